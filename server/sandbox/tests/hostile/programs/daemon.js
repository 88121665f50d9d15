const { spawn, execSync } = require('node:child_process')
spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).unref()
// Out of the session, the group and the family, deaf to signals, holding the streams open.
execSync('(setsid sh -c "trap \\"\\" TERM HUP; (sleep 61 &)" &) ; (setsid sleep 62 >/dev/null 2>&1 &)', { stdio: ['ignore', 'ignore', 'inherit'] })
console.log('left')
