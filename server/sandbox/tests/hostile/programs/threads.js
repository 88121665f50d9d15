const { Worker } = require('node:worker_threads')
for (let n = 0; n < 3000; n++) new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => {})
