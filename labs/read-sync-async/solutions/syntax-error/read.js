'use strict';
const fs = require('node:fs');
console.log(fs.readFileSync('/etc/hostname', 'utf8');
