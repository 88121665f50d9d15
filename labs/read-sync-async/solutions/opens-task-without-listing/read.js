'use strict';
const fs = require('node:fs');

console.log('hostname:', fs.readFileSync('/etc/hostname', 'utf8').trim());

fs.readFile('/etc/os-release', 'utf8', (error, text) => {
  if (error) throw error;
  console.log('os-release:', text.split('\n')[0]);
  fs.closeSync(fs.openSync('/proc/self/task'));
});
