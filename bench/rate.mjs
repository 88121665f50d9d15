// Graded attempts a minute: visitors who each make an attempt, wait for its grade, and make the next. node rate.mjs SECONDS

const seconds = Number(process.argv[2])
const url = process.env.TODOKU_URL
const VISITORS = 8
const script = "require('node:fs').readFileSync('/etc/hostname')"
const from = performance.now()
let graded = 0

async function visitor() {
  let cookie = ''
  while (performance.now() - from < seconds * 1000) {
    const made = await fetch(`${url}/api/v1/attempts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify({ lab: 'one-run', files: { 'read.js': script } }),
    })
    if (made.status !== 201) throw new Error(`POST: ${made.status} ${await made.text()}`)
    cookie ||= made.headers.get('set-cookie').split(';')[0]
    const events = await fetch(url + made.headers.get('location') + '/events', { headers: { cookie } })
    if (!(await events.text()).includes('"state":"graded"')) throw new Error('not graded')
    graded++
  }
}

await Promise.all(Array.from({ length: VISITORS }, visitor))
const rate = (60 * graded) / ((performance.now() - from) / 1000)
console.log(`| graded attempts over HTTP | ${process.env.TODOKU_WORKERS} | ${rate.toFixed(0)} |`)
