const fs = require('node:fs')
// Memory that no process owns: killing them gives none of it back.
for (const place of ['/lab/big', '/tmp/big']) {
  const fd = fs.openSync(place, 'w')
  for (let n = 0; n < 63; n++) fs.writeSync(fd, Buffer.alloc(1 << 20, 1))
}
const kept = []
for (;;) kept.push(Buffer.alloc(1 << 20, 1))
