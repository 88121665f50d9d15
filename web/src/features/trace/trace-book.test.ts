import { describe, expect, test } from 'vitest'
import { bytesOf } from './leader.ts'
import { needleOf, TraceBook } from './trace-book.ts'
import { filterLines, lineAt, nextMatch, NO_FILTER, rowOf, type Filter, type View } from './trace-filter.ts'

const TEXT = `10    1.000001 openat(AT_FDCWD, "/etc/Hosts", O_RDONLY) = 3 <0.000045>
11    1.000002 epoll_wait(5,  <unfinished ...>
10    1.000003 read(3, "a", 1) = 1 <0.000001>
12    1.000004 read(4,  <unfinished ...>
11    1.000005 <... epoll_wait resumed>[], 8, 0) = 0 <0.000003>
10    1.000006 readv(3, [], 1) = -1 EBADF (Bad file descriptor) <0.000001>
12    1.000007 <... read resumed>"", 1) = 0 <0.000003>
11    1.000008 <... epoll_wait resumed>[], 8, 0) = 0 <0.000003>
10    1.000009 +++ exited with 0 +++`

function bookOf(text: string, piece = text.length): TraceBook {
  const book = new TraceBook({ bytes: 4, lines: 0 })
  const bytes = bytesOf(text)
  for (let at = 0; at < bytes.length; at += piece) book.add(bytes.subarray(at, at + piece))
  book.finish()
  return book
}

function filtered(book: TraceBook, part: Partial<Filter>): View {
  const steps = filterLines(book, { ...NO_FILTER, ...part })
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value
}

function linesOf(view: View): number[] {
  return Array.from({ length: view.rows }, (_, row) => lineAt(view, row) + 1)
}

describe('the index of a trace', () => {
  test.each([1, 7, 64, 10_000])('is the same in pieces of %d bytes', (piece) => {
    const book = bookOf(TEXT, piece)
    expect(book.lines).toBe(9)
    const texts = Array.from({ length: book.lines }, (_, index) => book.show(index, 1000).text)
    expect(texts.join('\n')).toBe(TEXT)
  })

  test('counts threads in the order of their first line, and calls by how many there are', () => {
    const book = bookOf(TEXT)
    expect(book.threads()).toEqual([
      { value: 10, lines: 4 },
      { value: 11, lines: 3 },
      { value: 12, lines: 2 },
    ])
    expect(book.callNames().slice(0, 2)).toEqual([
      { value: 'epoll_wait', lines: 3 },
      { value: 'read', lines: 3 },
    ])
  })

  test('carriage returns, empty lines and a last line end are no text', () => {
    const book = bookOf('1 a() = 0\r\n\r\n2 b() = 0\r\n')
    expect([0, 1, 2].map((index) => book.show(index, 99).text)).toEqual(['1 a() = 0', '', '2 b() = 0'])
    expect(book.lines).toBe(3)
    expect(bookOf('').lines).toBe(0)
  })

  test('grows past what was expected', () => {
    const book = bookOf('1 close(3) = 0\n'.repeat(5_000), 999)
    expect(book.lines).toBe(5_000)
    expect(book.show(4_999, 99)).toEqual({ line: 5_000, text: '1 close(3) = 0', cut: 0 })
  })

  test('a long line is cut where it is shown', () => {
    expect(bookOf(TEXT).show(0, 10)).toMatchObject({
      text: '10    1.00',
      cut: (TEXT.split('\n')[0] ?? '').length - 10,
    })
  })

  test('a half leads to the other half of the same thread and call, and a stray half nowhere', () => {
    const book = bookOf(TEXT)
    const partners = Array.from({ length: book.lines }, (_, index) => book.details(index, 99).partner)
    expect(partners).toEqual([null, 5, null, 7, 2, null, 4, null, null])
  })
})

describe('the filter', () => {
  test.each<[Partial<Filter>, number[]]>([
    [{ tid: 10 }, [1, 3, 6, 9]],
    [{ calls: 'read' }, [3, 4, 7]],
    [{ calls: 'rea' }, [3, 4, 6, 7]],
    [{ calls: 'openat,  readv' }, [1, 6]],
    [{ calls: 'nothing' }, []],
    [{ text: 'HOSTS' }, [1]],
    [{ text: '<unfinished ...>', tid: 11 }, [2]],
    [{ text: 'ebadf', calls: 'read' }, []],
    [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ])('%j', (part, lines) => {
    const view = filtered(bookOf(TEXT), part)
    expect(linesOf(view)).toEqual(lines)
    expect(view.matches).toBe(lines.length)
  })

  test('matches can be marked among the other lines', () => {
    const view = filtered(bookOf(TEXT), { text: 'read', tid: 10, matchesOnly: false })
    expect(linesOf(view)).toEqual([1, 3, 6, 9])
    expect(view.matches).toBe(2)
    expect([nextMatch(view, 0, 1), nextMatch(view, 1, 1), nextMatch(view, 2, 1)]).toEqual([1, 2, 1])
    expect([nextMatch(view, 3, -1), nextMatch(view, 1, -1)]).toEqual([2, 2])
  })

  test('a line is found in what is shown, or the next one is', () => {
    const book = bookOf(TEXT)
    const view = filtered(book, { tid: 10 })
    expect(rowOf(view, 2)).toEqual({ row: 1, exact: true })
    expect(rowOf(view, 3)).toEqual({ row: 2, exact: false })
    expect(rowOf(filtered(book, {}), 8)).toEqual({ row: 8, exact: true })
    expect(nextMatch(filtered(book, { text: 'zzz' }), 0, 1)).toBeNull()
  })

  test('a long text is looked at in steps', () => {
    const steps = filterLines(bookOf('1 close(3) = 0\n'.repeat(200_000)), { ...NO_FILTER, text: 'x' })
    let pauses = 0
    while (!steps.next().done) pauses++
    expect(pauses).toBeGreaterThan(2)
  })

  test('letters beyond ASCII are compared as they are', () => {
    expect(needleOf('ÄB')).toEqual(bytesOf('Äb'))
    expect(linesOf(filtered(bookOf('1 x("é")\n2 x("É")'), { text: 'É' }))).toEqual([2])
  })
})
