for (;;) require('node:fs').existsSync('/' + 'x'.repeat(1000))
