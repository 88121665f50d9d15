'use strict';
const fs = require('node:fs');
const crypto = require('node:crypto');

function listThreads() {
  for (const tid of fs.readdirSync('/proc/self/task')) {
    const name = fs.readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim();
    console.log(`thread ${tid}: ${name}`);
  }
}

// pbkdf2 runs on the pool: there is one before the first file is read.
crypto.pbkdf2('password', 'salt', 1, 32, 'sha256', () => {
  console.log('hostname:', fs.readFileSync('/etc/hostname', 'utf8').trim());
  fs.readFile('/etc/os-release', 'utf8', (error, text) => {
    if (error) throw error;
    console.log('os-release:', text.split('\n')[0]);
    listThreads();
  });
});
