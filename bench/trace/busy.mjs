// A busy Node program to be traced: a server and its clients, files in many sizes, child processes, the pool.
// It ends when its trace has grown to a size: busy.mjs TRACE_FILE BYTES

import { execFile } from 'node:child_process'
import { pbkdf2 } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { statSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const [trace, bytes] = [process.argv[2], Number(process.argv[3])]
const home = await mkdtemp(join(tmpdir(), 'busy-'))
const agent = new http.Agent({ keepAlive: true, maxSockets: 20 })

const server = http.createServer(async (request, response) => {
  if (request.url === '/slow') await new Promise((done) => setTimeout(done, 3))
  response.end(await readFile(join(home, 'page')))
})
await writeFile(join(home, 'page'), 'a page of "text" <and> (brackets) = 0\n'.repeat(100))
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const { port } = server.address()

const get = (path) =>
  new Promise((done, failed) => {
    http.get({ port, path, agent }, (response) => response.resume().on('end', done)).on('error', failed)
  })

async function files(round) {
  const path = join(home, `写し "${round % 50}"`)
  await writeFile(path, Buffer.alloc(1 + ((round * 7919) % 200_000), 'x'))
  await readFile(path)
  await stat(join(home, `missing-${round}`)).catch(() => {})
  await readdir(home)
  await statfs(home)
}

for (let round = 0; ; round++) {
  await Promise.all([
    ...Array.from({ length: 20 }, (_, i) => get(i % 5 ? '/' : '/slow')),
    ...Array.from({ length: 4 }, (_, i) => files(round * 4 + i)),
    promisify(pbkdf2)('secret', 'salt', 1000, 32, 'sha256'),
    promisify(gzip)(Buffer.alloc(100_000, 'gz')),
  ])
  if (round % 100 === 0) await promisify(execFile)('/bin/true')
  if (statSync(trace).size >= bytes) break
}

server.close()
agent.destroy()
await rm(home, { recursive: true })
