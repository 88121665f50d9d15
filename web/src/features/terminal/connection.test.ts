import { describe, expect, test } from 'vitest'
import { Connection, type Socket, type Status, type Surroundings } from './connection.ts'

class FakeSocket implements Socket {
  closed = false
  readonly told: object[] = []
  typed: number[] = []
  private readonly on: Parameters<Surroundings['connect']>[0]

  constructor(on: Parameters<Surroundings['connect']>[0]) {
    this.on = on
  }

  send(data: string | Uint8Array): void {
    if (typeof data === 'string') this.told.push(JSON.parse(data) as object)
    else this.typed.push(...data)
  }

  close(): void {
    this.closed = true
  }

  hear(words: object): void {
    this.on.heard(JSON.stringify(words))
  }

  lose(): void {
    this.on.closed()
  }

  show(text: string): void {
    this.on.heard(new TextEncoder().encode(text).buffer)
  }
}

function bench(look: () => Status | null | undefined = () => null) {
  const sockets: FakeSocket[] = []
  const seen: string[] = []
  const waits: { act: () => void; ms: number }[] = []
  const shown: (() => void)[] = []
  const connection = new Connection({
    connect: (on) => {
      const socket = new FakeSocket(on)
      sockets.push(socket)
      return socket
    },
    look: () => Promise.resolve(look()),
    later: (act, ms) => {
      waits.push({ act, ms })
      return () => waits.splice(0)
    },
    status: ({ link, reason }) => seen.push(reason ? `${link}: ${reason}` : link),
    reset: () => seen.push('empty screen'),
    show: (bytes, done) => {
      seen.push(new TextDecoder().decode(bytes))
      shown.push(done)
    },
  })
  const last = () => sockets.at(-1) as FakeSocket
  return { connection, last, sockets, seen, waits, shown }
}

const text = (bytes: number[]) => new TextDecoder().decode(new Uint8Array(bytes))
const settle = () => new Promise((resolve) => setTimeout(resolve))

describe('a terminal’s connection', () => {
  test('waits, opens with the size known by then, shows, and ends with why', () => {
    const { connection, last, seen } = bench()
    connection.resize(100, 30)
    connection.type('before it is open')
    last().hear({ type: 'waiting' })
    last().hear({ type: 'open', room: 65_536 })
    last().show('$ ')
    connection.type('ls\r')
    connection.resize(90, 30)
    last().hear({ type: 'ended', reason: 'idle' })
    last().lose()
    expect(seen).toEqual(['waiting', 'empty screen', 'open', '$ ', 'ended: idle'])
    expect(text(last().typed)).toBe('ls\r')
    expect(last().told).toEqual([
      { type: 'resize', cols: 100, rows: 30 },
      { type: 'resize', cols: 90, rows: 30 },
    ])
  })

  test('says what was shown when the screen has it, and to the socket it came from', async () => {
    const { last, sockets, shown, waits } = bench()
    last().hear({ type: 'open', room: 1 })
    last().show('日本')
    expect(last().told).toEqual([])
    shown[0]?.()
    expect(last().told).toEqual([{ type: 'read', bytes: 6 }])
    last().show('late')
    last().lose()
    await settle()
    waits[0]?.act()
    last().hear({ type: 'open', room: 1 })
    shown[1]?.()
    expect(sockets.map(({ told }) => told.length)).toEqual([1, 0])
  })

  test('a paste goes in pieces, as the other end takes them', () => {
    const { connection, last } = bench()
    last().hear({ type: 'open', room: 10_000 })
    const paste = '貼'.repeat(5000)
    connection.type(paste)
    expect(last().typed.length).toBe(8192)
    last().hear({ type: 'taken', bytes: 8192 })
    expect(text(last().typed)).toBe(paste)
  })

  test('a lost connection is tried again, each time later, until it is back', async () => {
    const { last, seen, waits, sockets } = bench()
    last().hear({ type: 'open', room: 1 })
    for (let n = 0; n < 6; n++) {
      last().lose()
      // oxlint-disable-next-line no-await-in-loop -- one after the other is what is tested
      await settle()
      waits.at(-1)?.act()
    }
    expect(waits.map(({ ms }) => ms)).toEqual([500, 1000, 2000, 4000, 8000, 8000])
    last().hear({ type: 'open', room: 1 })
    expect(seen).toEqual(['empty screen', 'open', 'reconnecting', 'empty screen', 'open'])
    expect(sockets.length).toBe(7)
    last().lose()
    await settle()
    expect(waits.at(-1)?.ms).toBe(500)
  })

  test('a terminal that ended meanwhile is not looked for any more', async () => {
    const { last, seen, waits } = bench(() => ({ link: 'ended', reason: 'lost' }))
    last().hear({ type: 'open', room: 1 })
    last().lose()
    await settle()
    expect(seen.at(-1)).toBe('ended: lost')
    expect(waits).toEqual([])
  })

  test('another tab has it until it is taken back', async () => {
    const { connection, last, seen, sockets } = bench()
    last().hear({ type: 'open', room: 1 })
    last().hear({ type: 'elsewhere' })
    last().lose()
    await settle()
    expect(seen.at(-1)).toBe('elsewhere')
    expect(sockets.length).toBe(1)
    connection.again()
    last().hear({ type: 'open', room: 1 })
    expect(seen.slice(-3)).toEqual(['connecting', 'empty screen', 'open'])
  })

  test('who leaves hears nothing more', async () => {
    const { connection, last, seen, waits } = bench()
    last().hear({ type: 'open', room: 1 })
    connection.leave()
    expect(last().closed).toBe(true)
    last().lose()
    await settle()
    expect([seen.at(-1), waits.length]).toEqual(['open', 0])
  })
})
