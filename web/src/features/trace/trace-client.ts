/** The page's end of the worker that holds a trace. */
import { failureFrom, networkFailure, type Failure } from '../../api/failure.ts'
import type { Contents, FromWorker, Questions, Source, ToWorker, Topic } from './protocol.ts'

export interface TraceClient {
  ask: <T extends Topic>(topic: T, ask: Questions[T]['ask']) => Promise<Questions[T]['answer']>
  close: () => void
}

/** Opens a trace in a worker of its own, which ends (and gives its memory back) with `close`. */
export function openTrace(
  source: Source,
  on: {
    progress: (bytes: number) => void
    opened: (contents: Contents) => void
    failed: (why: Failure) => void
  },
): TraceClient {
  const worker = new Worker(new URL('./trace.worker.ts', import.meta.url), { type: 'module' })
  const waiting = new Map<number, (answer: never) => void>()
  let last = 0

  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
    if ('progress' in data) on.progress(data.progress)
    else if ('opened' in data) on.opened(data.opened)
    else if ('failed' in data) on.failed(failureOf(data.failed))
    else {
      waiting.get(data.id)?.(data.answer as never)
      waiting.delete(data.id)
    }
  })
  // Its code could not be loaded.
  worker.addEventListener('error', (event) => on.failed(networkFailure(event)))

  // A worker has no origin to name.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  const send = (message: ToWorker) => worker.postMessage(message)
  send({ open: source })
  return {
    ask: (topic, ask) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve)
        send({ id: last, topic, ask } as ToWorker)
      }),
    close: () => worker.terminate(),
  }
}

function failureOf({ status, body }: { status: number; body: unknown }): Failure {
  return status === 0 ? networkFailure(null) : failureFrom(status, body)
}
