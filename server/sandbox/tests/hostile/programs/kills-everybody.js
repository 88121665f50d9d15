const child = require('node:child_process').spawn('sleep', ['60'])
child.on('exit', (code, signal) => console.log('child', signal))
child.on('spawn', () => setTimeout(() => process.kill(-1, 'SIGKILL'), 100))
