const fs = require('node:fs')
let opened = 0
try {
  for (; opened < 100_000; opened++) fs.openSync('/etc/passwd')
} catch (error) {
  console.log(error.code, opened < 1024)
}
