// Memory that no process owns, taken again by one small process after the other until none can be had.
const script = 'for n in 1 2 3 4 5 6 7 8; do (while :; do cat /dev/zero >> /tmp/big$n; done) & done; wait'
process.execve('/bin/sh', ['sh', '-c', script], { MARK: process.env.MARK })
