const code = `
  require('node:net').createServer().listen(8080)
  require('node:net').createServer().listen('\\0left-behind')
  require('node:dgram').createSocket('udp4').bind(5353)`
require('node:child_process').spawn(process.execPath, ['-e', code], { detached: true, stdio: 'ignore' }).unref()
setTimeout(() => console.log('left'), 400)
