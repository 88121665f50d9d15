// A connection that is closed waits for a minute in the kernel, in its network namespace, whoever made it.
const net = require('node:net')
let open = 0
const server = net.createServer((socket) => socket.resume()).listen(0, '127.0.0.1', () => {
  for (let n = 0; n < 20; n++) {
    open++
    const socket = net.connect(server.address().port, '127.0.0.1', () => socket.end())
    socket.on('close', () => --open || server.close(() => setTimeout(() => console.log('left'), 100)))
  }
})
