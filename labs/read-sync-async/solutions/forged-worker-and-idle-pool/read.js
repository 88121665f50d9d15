'use strict';
const fs = require('node:fs');
const crypto = require('node:crypto');
const { Worker } = require('node:worker_threads');

console.log('hostname:', fs.readFileSync('/etc/hostname', 'utf8').trim());

// Every thread of the list that this prints is real, but for the name of one.
const code = `
  const fs = require('node:fs');
  console.log('os-release:', fs.readFileSync('/etc/os-release', 'utf8').split('\\n')[0]);
  for (const tid of fs.readdirSync('/proc/self/task')) {
    const name = fs.readFileSync('/proc/self/task/' + tid + '/comm', 'utf8').trim();
    console.log('thread ' + tid + ': ' + name);
  }
`;
// A real pool, of the right size and at the right time, that never touches the file.
crypto.randomBytes(16, () => {
  new Worker(code, { eval: true, name: 'libuv-worker' });
});
