const fs = require('node:fs')
for (let n = 0; ; n++) fs.writeSync(Number(process.argv[2]), `line ${n}\n`)
