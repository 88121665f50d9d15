for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGALRM', 'SIGXCPU']) process.on(signal, () => {})
require('node:child_process').spawn('sh', ['-c', 'trap "" TERM INT HUP; while :; do sleep 1; done'], { detached: true, stdio: 'ignore' })
setInterval(() => {}, 1000)
