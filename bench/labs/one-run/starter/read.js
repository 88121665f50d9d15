const fs = require('node:fs')

fs.readFileSync('/etc/hostname')
fs.readFile('/etc/os-release', (error, text) => {
  if (error) throw error
  console.log(text.length)
})
