/**
 * A browser's end of a terminal: one WebSocket after another, until the terminal has ended. Knows no DOM.
 *
 * Both directions keep to a window. Of what is typed only as much is sent as the other end has room for; what is
 * shown is said, so that a flood of output waits for the screen.
 */
import type { TerminalEnd } from '../../api/types.ts'

export type Link = 'connecting' | 'waiting' | 'open' | 'reconnecting' | 'elsewhere' | 'ended'

export interface Status {
  link: Link
  /** Why it ended; null while it has not, or when nobody knows. */
  reason: TerminalEnd | null
}

/** What is used of a WebSocket. */
export interface Socket {
  send: (data: string | Uint8Array<ArrayBuffer>) => void
  close: () => void
}

export interface Surroundings {
  connect: (on: { heard: (data: unknown) => void; closed: () => void }) => Socket
  /** Asks the server for the terminal: its end, null while it lives, `undefined` when no answer came. */
  look: () => Promise<Status | null | undefined>
  later: (act: () => void, ms: number) => () => void
  status: (status: Status) => void
  /** A screen that is empty: what was shown before comes again. */
  reset: () => void
  show: (bytes: Uint8Array, shown: () => void) => void
}

const CHUNK = 4096
/** More than this is not kept for a terminal that takes nothing. */
const MAX_WAITING = 4 * 1024 * 1024
const FIRST_WAIT_MS = 500
const LAST_WAIT_MS = 8000

type Told =
  | { type: 'waiting' | 'elsewhere' }
  | { type: 'open'; room: number }
  | { type: 'taken'; bytes: number }
  | { type: 'ended'; reason: TerminalEnd }

export class Connection {
  private readonly around: Surroundings
  private socket: Socket | null = null
  private link: Link = 'connecting'
  private size: { cols: number; rows: number } | null = null
  private waiting: Uint8Array<ArrayBuffer>[] = []
  private room = 0
  private wait = FIRST_WAIT_MS
  private stopWaiting = () => {}

  constructor(around: Surroundings) {
    this.around = around
    this.connect()
  }

  type(text: string): void {
    if (this.link !== 'open') return
    const bytes = new TextEncoder().encode(text)
    const held = this.waiting.reduce((sum, chunk) => sum + chunk.length, 0)
    if (held + bytes.length > MAX_WAITING) return
    for (let at = 0; at < bytes.length; at += CHUNK) this.waiting.push(bytes.slice(at, at + CHUNK))
    this.flush()
  }

  resize(cols: number, rows: number): void {
    this.size = { cols, rows }
    if (this.link === 'open') this.tell({ type: 'resize', cols, rows })
  }

  /** Takes the terminal back from the tab that has it. */
  again(): void {
    if (this.link === 'ended') return
    this.drop()
    this.become('connecting')
    this.connect()
  }

  /** Lets go of it; the terminal lives on. */
  leave(): void {
    this.drop()
    this.link = 'ended'
  }

  private connect(): void {
    const socket = this.around.connect({
      heard: (data) => {
        if (this.socket !== socket) return
        if (typeof data === 'string') this.hear(JSON.parse(data) as Told)
        else if (data instanceof ArrayBuffer) this.show(socket, new Uint8Array(data))
      },
      closed: () => void this.lost(socket),
    })
    this.socket = socket
  }

  private hear(told: Told): void {
    switch (told.type) {
      case 'waiting':
        return this.become('waiting')
      case 'open':
        this.wait = FIRST_WAIT_MS
        this.room = told.room
        this.waiting = []
        this.around.reset()
        this.become('open')
        if (this.size) this.tell({ type: 'resize', ...this.size })
        return undefined
      case 'taken':
        this.room += told.bytes
        return this.flush()
      case 'elsewhere':
        return this.become('elsewhere')
      case 'ended':
        return this.become('ended', told.reason)
    }
  }

  private show(socket: Socket, bytes: Uint8Array): void {
    this.around.show(bytes, () => {
      if (this.socket === socket && this.link === 'open') this.tell({ type: 'read', bytes: bytes.length })
    })
  }

  private flush(): void {
    for (let next = this.waiting[0]; next && next.length <= this.room; next = this.waiting[0]) {
      this.waiting.shift()
      this.room -= next.length
      this.socket?.send(next)
    }
  }

  private tell(words: object): void {
    this.socket?.send(JSON.stringify(words))
  }

  private async lost(socket: Socket): Promise<void> {
    if (this.socket !== socket || this.link === 'ended' || this.link === 'elsewhere') return
    this.socket = null
    this.become('reconnecting')
    const known = await this.around.look()
    if (this.link !== 'reconnecting') return
    if (known) {
      this.become(known.link, known.reason)
      return
    }
    this.stopWaiting = this.around.later(() => this.connect(), this.wait)
    this.wait = Math.min(this.wait * 2, LAST_WAIT_MS)
  }

  private drop(): void {
    this.stopWaiting()
    const { socket } = this
    this.socket = null
    socket?.close()
  }

  private become(link: Link, reason: TerminalEnd | null = null): void {
    if (this.link === link && link !== 'ended') return
    this.link = link
    this.around.status({ link, reason })
  }
}
