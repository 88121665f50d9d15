const fs = require('node:fs')
const fd = fs.openSync(`${process.argv[2]}/full`, 'w')
try {
  for (;;) fs.writeSync(fd, Buffer.alloc(1 << 20))
} catch (error) {
  console.log(error.code)
}
