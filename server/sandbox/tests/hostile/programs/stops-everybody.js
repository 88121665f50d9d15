require('node:child_process').spawn('sh', ['-c', 'kill -STOP $$'], { detached: true, stdio: 'ignore' })
setTimeout(() => {
  process.kill(-1, 'SIGSTOP')
  process.kill(process.pid, 'SIGSTOP')
}, 100)
setInterval(() => {}, 1000)
