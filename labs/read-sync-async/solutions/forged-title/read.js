'use strict';
const fs = require('node:fs');

// The kernel now calls the main thread libuv-worker, and so does /proc/self/task.
process.title = 'libuv-worker';

function listThreads() {
  for (const tid of fs.readdirSync('/proc/self/task')) {
    const name = fs.readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim();
    console.log(`thread ${tid}: ${name}`);
  }
}

console.log('hostname:', fs.readFileSync('/etc/hostname', 'utf8').trim());

console.log('os-release:', fs.readFileSync('/etc/os-release', 'utf8').split('\n')[0]);
listThreads();
