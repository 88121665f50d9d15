'use strict';
const fs = require('node:fs');

function listThreads() {
  for (const tid of fs.readdirSync('/proc/self/task')) {
    const name = fs.readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim();
    console.log(`thread ${tid}: ${name}`);
  }
}

console.log('hostname:', fs.readFileSync('/etc/hostname', 'utf8').trim());

console.log('os-release:', fs.readFileSync('/etc/../usr/lib/./os-release', 'utf8').split('\n')[0]);
fs.readFile('/etc/os-release', 'utf8', (error) => {
  if (error) throw error;
  listThreads();
});
