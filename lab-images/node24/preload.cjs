'use strict';
// Loaded before the learner's script (node --require). Opens nothing and starts no thread:
// whatever ran here would stand in every trace.

const { existsSync } = require('node:fs');

// mark('name') leaves one failing access("/__mark__/name") in the trace, on the calling thread.
function mark(name) {
  if (typeof name !== 'string' || name === '' || name.length > 64 || /[/\0]/.test(name)) {
    throw new TypeError("mark(name): give a name of 1 to 64 characters without '/', as in mark('fetch')");
  }
  existsSync(`/__mark__/${name}`);
}

Object.defineProperty(globalThis, 'mark', { value: mark, configurable: true, writable: true });
