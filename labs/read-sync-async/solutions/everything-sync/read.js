'use strict';
const fs = require('node:fs');

// 1. /etc/hostname: 同期で読む / read synchronously
const hostname = fs.readFileSync('/etc/hostname', 'utf8').trim();
console.log('hostname:', hostname);

// 2. /etc/os-release: ここを非同期にする / make this one asynchronous
const release = fs.readFileSync('/etc/os-release', 'utf8');
console.log('os-release:', release.split('\n')[0]);

// 3. 2 を読み終えたあとのスレッド一覧 / the threads, once 2 has been read
for (const tid of fs.readdirSync('/proc/self/task')) {
  const name = fs.readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim();
  console.log(`thread ${tid}: ${name}`);
}
