import { afterEach, describe, expect, test, vi } from 'vitest'
import { parseExactly, queryAttempt } from './evidence.ts'
import { Failure } from './failure.ts'

afterEach(() => vi.unstubAllGlobals())

function answering(status: number, body: string) {
  const fetch = vi.fn<(url: string, init?: RequestInit) => Promise<Response>>(
    async () => new Response(body, { status }),
  )
  vi.stubGlobal('fetch', fetch)
  return fetch
}

describe('a query', () => {
  test('is sent with its parameters, and its answer read', async () => {
    const fetch = answering(200, '{"columns":["id"],"rows":[[7]],"truncated":false,"wall_ms":1.5}')
    const answer = await queryAttempt('a/b', { sql: 'select :id', params: { id: 7 } })
    expect(answer.rows).toEqual([[7]])
    const [url, init] = fetch.mock.calls[0] ?? []
    expect(url).toBe('/api/v1/attempts/a%2Fb/query')
    expect(JSON.parse(String(init?.body))).toEqual({ sql: 'select :id', params: { id: 7 } })
  })

  test('that is wrong says where', async () => {
    answering(422, '{"code":"query_invalid","detail":"no such column: nam","position":{"line":1,"column":8}}')
    await expect(queryAttempt('a', { sql: 'select nam' })).rejects.toMatchObject({
      code: 'query_invalid',
      message: 'no such column: nam',
      position: { line: 1, column: 8 },
    })
  })

  test('that met a bound says which', async () => {
    answering(422, '{"code":"query_limit","detail":"too slow","bound":"time","position":{"line":"x"}}')
    await expect(queryAttempt('a', { sql: 'select 1' })).rejects.toMatchObject({
      bound: 'time',
      position: null,
    })
  })

  test('without a server is a failure of the network, and one taken back is none', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('fetch failed')))
    await expect(queryAttempt('a', { sql: '' })).rejects.toMatchObject({ code: 'network' })
    vi.stubGlobal('fetch', () => Promise.reject(new DOMException('aborted', 'AbortError')))
    await expect(queryAttempt('a', { sql: '' })).rejects.not.toBeInstanceOf(Failure)
  })
})

test('integers that a double cannot hold stay exact', () => {
  expect(parseExactly('[9007199254740993,-9223372036854775808,1e300,0.1,5]')).toEqual([
    9007199254740993n,
    -9223372036854775808n,
    1e300,
    0.1,
    5,
  ])
})
