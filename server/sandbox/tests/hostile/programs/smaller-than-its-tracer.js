// The main process becomes one that is smaller than the tracer, and takes memory that no process owns.
process.execve('/bin/sh', ['sh', '-c', 'cat /dev/zero > /tmp/big; sleep 60'], { MARK: process.env.MARK })
