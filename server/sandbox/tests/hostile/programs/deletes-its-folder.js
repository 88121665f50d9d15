const fs = require('node:fs')
for (const name of fs.readdirSync('/lab')) fs.rmSync(`/lab/${name}`, { recursive: true })
try {
  fs.rmdirSync('/lab')
} catch (error) {
  console.log(fs.readdirSync('/lab').length, error.code)
}
setTimeout(() => {}, 100)
