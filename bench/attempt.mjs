// Called by bench/attempt: one bare run and one attempt over HTTP in turn, so that noise hits both alike.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [rootfs, count] = [process.argv[2], Number(process.argv[3])]
const url = process.env.TODOKU_URL
const argv = readFileSync(`${rootfs}/argv`, 'utf8').trimEnd().split('\n')
const script = readFileSync(`${rootfs}/lab/read.js`, 'utf8')
const WARM_UP = 3

function bare() {
  const start = performance.now()
  const run = spawnSync('chroot', [rootfs, ...argv], { cwd: '/', env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/bin', LC_ALL: 'C' } })
  const ms = performance.now() - start
  if (run.status !== 0) throw new Error(`bare run failed: ${run.error ?? run.stderr}`)
  return ms
}

let cookie = ''

async function attempt() {
  const start = performance.now()
  const made = await fetch(`${url}/api/v1/attempts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ lab: 'one-run', files: { 'read.js': script } }),
  })
  if (made.status !== 201) throw new Error(`POST: ${made.status} ${await made.text()}`)
  cookie ||= made.headers.get('set-cookie').split(';')[0]
  const events = await fetch(url + made.headers.get('location') + '/events', { headers: { cookie } })
  // The server closes the stream with the attempt's last state.
  const text = await events.text()
  const ms = performance.now() - start
  const last = JSON.parse(text.trim().split('\n').findLast((line) => line.startsWith('data: ')).slice(6))
  if (last.state !== 'graded' || last.grade.points !== 1) throw new Error(`not graded as it should be: ${text}`)
  return ms
}

const times = { bare: [], attempt: [] }
for (let i = -WARM_UP; i < count; i++) {
  const pair = { bare: bare(), attempt: await attempt() }
  if (i >= 0) for (const name of ['bare', 'attempt']) times[name].push(pair[name])
}

const at = (sorted, p) => sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)]
for (const sorted of Object.values(times)) sorted.sort((a, b) => a - b)
console.log(`${count} of each, in turn          median      p95`)
for (const [name, text] of [['bare', 'bare strace node'], ['attempt', 'POST to graded']]) {
  const ms = (p) => `${at(times[name], p).toFixed(0).padStart(6)} ms`
  console.log(`${text.padEnd(24)} ${ms(50)} ${ms(95)}`)
}
console.log(`ratio of medians         ${(at(times.attempt, 50) / at(times.bare, 50)).toFixed(2).padStart(6)}`)
