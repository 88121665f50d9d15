/** Holds one trace: fetches it, indexes it, and answers about it, so that the page never waits for 64 MiB. */
import type { Asked, Contents, FromWorker, Questions, Source, ToWorker, Topic } from './protocol.ts'
import { TraceBook } from './trace-book.ts'
import { filterLines, lineAt, nextMatch, NO_FILTER, rowOf, type Filter, type View } from './trace-filter.ts'

/** Bytes of a line in the list. Longer ones are cut there, and whole in the details and the download. */
const LONGEST_IN_LIST = 2_000
const LONGEST_IN_DETAILS = 32_768
const PROGRESS_EVERY_MS = 100

let book = new TraceBook({ bytes: 0, lines: 0 })
let view: View = { shown: null, rows: 0, matching: null, matches: 0 }
/** Of the newest filter asked for, and of the one shown. */
let [newest, version] = [0, 0]

function say(message: FromWorker): void {
  postMessage(message)
}

/** Lets the messages in that came meanwhile. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.addEventListener('message', () => {
      port1.close()
      resolve()
    })
    port1.start()
    port2.postMessage(null)
  })
}

async function open({ url, bytes, lines }: Source): Promise<Contents | null> {
  const response = await fetch(url, { credentials: 'same-origin' })
  if (!response.ok || !response.body) {
    say({ failed: { status: response.status, body: await response.json().catch(() => null) } })
    return null
  }
  book = new TraceBook({ bytes, lines })
  const reader = response.body.getReader()
  let [read, said] = [0, 0]
  for (;;) {
    // One piece after the other is the point.
    // eslint-disable-next-line no-await-in-loop
    const { done, value } = await reader.read()
    if (done) break
    book.add(value)
    read += value.length
    if (performance.now() - said > PROGRESS_EVERY_MS) {
      said = performance.now()
      say({ progress: read })
    }
  }
  book.finish()
  view = filterLines(book, NO_FILTER).next().value ?? view
  return { lines: book.lines, threads: book.threads(), calls: book.callNames() }
}

/** Null when another filter was asked for meanwhile. */
async function filter(wanted: Filter): Promise<Questions['filter']['answer']> {
  const mine = ++newest
  const steps = filterLines(book, wanted)
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) {
      view = step.value
      version = mine
      return { version, rows: view.rows, matches: view.matches }
    }
    // eslint-disable-next-line no-await-in-loop
    await pause()
    if (mine !== newest) return null
  }
}

const answers: { [T in Topic]: (ask: Questions[T]['ask']) => unknown } = {
  filter,
  rows: ({ from, to }) => {
    const last = Math.min(to, view.rows)
    const lines = Array.from({ length: Math.max(0, last - from) }, (_, n) =>
      book.show(lineAt(view, from + n), LONGEST_IN_LIST),
    )
    return { version, from, lines }
  },
  rowOf: ({ line }) => rowOf(view, line - 1),
  match: ({ row, step }) => nextMatch(view, row, step),
  details: ({ line }) =>
    line >= 1 && line <= book.lines ? book.details(line - 1, LONGEST_IN_DETAILS) : null,
}

async function answer({ id, topic, ask }: Asked): Promise<void> {
  const reply = await (answers[topic] as (ask: unknown) => unknown)(ask)
  say({ id, answer: reply as Questions[Topic]['answer'] })
}

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if (!('open' in data)) {
    void answer(data)
    return
  }
  open(data.open).then(
    (contents) => contents && say({ opened: contents }),
    () => say({ failed: { status: 0, body: null } }),
  )
})
