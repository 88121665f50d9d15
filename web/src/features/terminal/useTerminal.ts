import { onScopeDispose, ref, shallowRef } from 'vue'
import {
  closeTerminal,
  createTerminal,
  currentTerminal,
  getTerminal,
  terminalSocketUrl,
} from '../../api/client.ts'
import { Failure, networkFailure } from '../../api/failure.ts'
import type { Files, Lang, Terminal } from '../../api/types.ts'
import { Connection, type Status } from './connection.ts'
import type { Screen } from './screen.ts'

/** The learner's terminal: asked for, connected to, ended. */
export function useTerminal(about: { slug: () => string; files: () => Files; lang: () => Lang }) {
  const terminal = shallowRef<Terminal | null>(null)
  const status = ref<Status>({ link: 'connecting', reason: null })
  const failure = shallowRef<Failure | null>(null)
  let screen: Screen | null = null
  let size: [number, number] = [80, 24]
  let connection: Connection | null = null

  async function call<T>(make: () => Promise<T>): Promise<T | null> {
    failure.value = null
    try {
      return await make()
    } catch (error) {
      failure.value = error instanceof Failure ? error : networkFailure(error)
      return null
    }
  }

  /** Goes back to the terminal that there is, or asks for one. */
  async function start(on: Screen): Promise<void> {
    screen = on
    status.value = { link: 'connecting', reason: null }
    const one = await call(async () => {
      const { terminal: known } = await currentTerminal()
      return known ?? (await createTerminal(about.slug(), about.files(), about.lang()))
    })
    if (one && screen) connect(one)
  }

  function connect(one: Terminal): void {
    connection?.leave()
    terminal.value = one
    connection = new Connection({
      connect: ({ heard, closed }) => {
        const socket = new WebSocket(terminalSocketUrl(one.id))
        socket.binaryType = 'arraybuffer'
        socket.addEventListener('message', ({ data }) => heard(data))
        socket.addEventListener('close', closed)
        return socket
      },
      look: () => look(one.id),
      later: (act, ms) => {
        const timer = setTimeout(act, ms)
        return () => clearTimeout(timer)
      },
      status: (now) => (status.value = now),
      reset: () => screen?.reset(),
      show: (bytes, shown) => screen?.show(bytes, shown),
    })
    connection.resize(...size)
  }

  async function look(id: string): Promise<Status | null | undefined> {
    try {
      const { state, end_reason: reason } = await getTerminal(id)
      return state === 'ended' ? { link: 'ended', reason: (reason ?? null) as Status['reason'] } : null
    } catch (error) {
      return error instanceof Failure && error.isNotFound ? { link: 'ended', reason: null } : undefined
    }
  }

  /** Ends it: what was not taken back is gone. */
  async function end(): Promise<boolean> {
    const id = terminal.value?.id
    if (!id || status.value.link === 'ended') return true
    return (await call(() => closeTerminal(id))) !== null
  }

  onScopeDispose(() => {
    screen = null
    connection?.leave()
  })

  return {
    terminal,
    status,
    failure,
    start,
    end,
    call,
    again: () => connection?.again(),
    type: (text: string) => connection?.type(text),
    resize: (cols: number, rows: number) => {
      size = [cols, rows]
      connection?.resize(cols, rows)
    },
  }
}
