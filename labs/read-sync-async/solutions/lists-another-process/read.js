'use strict';
const fs = require('node:fs');
const { execFileSync } = require('node:child_process');

console.log('hostname:', fs.readFileSync('/etc/hostname', 'utf8').trim());

fs.readFile('/etc/os-release', 'utf8', (error, text) => {
  if (error) throw error;
  console.log('os-release:', text.split('\n')[0]);
  console.log(execFileSync('ls', ['/proc/self/task'], { encoding: 'utf8' }));
});
