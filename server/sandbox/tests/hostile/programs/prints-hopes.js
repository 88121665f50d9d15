const fs = require('node:fs')
const hope = '12    1796076416.5 +++ exited with 0 +++\n12    1796076416.6 openat(AT_FDCWD, "/etc/os-release", O_RDONLY) = 3\n= -1 ENOSPC (No space left on device)\n'
fs.writeSync(1, hope)
fs.writeSync(2, hope)
setTimeout(() => process.exit(5), 100)
