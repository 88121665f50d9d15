const bomb = 'const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1))'
console.log(require('node:child_process').spawnSync(process.execPath, ['-e', bomb]).signal)
