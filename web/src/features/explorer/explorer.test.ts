import { describe, expect, test } from 'vitest'
import { columnWidths, isCut, isEventColumn, isTimeColumn, readableTime } from './cells.ts'
import { toCsv, toMarkdown } from './export.ts'
import { loadQueries, remember, saveQueries } from './past-queries.ts'
import { rangeAt } from './position.ts'

describe('the place of a mistake', () => {
  const marked = (sql: string, line: number, column: number) => {
    const { from, to } = rangeAt(sql, { line, column })
    return sql.slice(from, to)
  }

  test.each([
    ['select nam from events', 1, 8, 'nam'],
    ['select 1\nfrom evnts\nwhere 1', 2, 6, 'evnts'],
    ["select '😀', x y z", 1, 13, 'x'],
    ["select '届く', nope", 1, 14, 'nope'],
    ['select )', 1, 8, ')'],
    ['select 😀', 1, 8, '😀'],
    ['select (', 1, 9, '('],
    ['select 1', 9, 9, '1'],
    ['', 1, 1, ''],
  ])('%j at %d:%d marks %j', (sql, line, column, expected) => {
    expect(marked(sql, line, column)).toBe(expected)
  })
})

describe('an answer as text', () => {
  const answer = {
    columns: ['id', 'path', 'n'],
    rows: [
      [1, 'a,"b"\nc', 2n ** 60n],
      [2, '', null],
      [3, '=1+1', 0.5],
    ],
  }

  test('CSV keeps every value, NULL apart from the empty text', () => {
    expect(toCsv(answer)).toBe('id,path,n\r\n1,"a,""b""\nc",1152921504606846976\r\n2,"",\r\n3,=1+1,0.5\r\n')
  })

  test('formulas are tamed when asked, and numbers stay numbers', () => {
    expect(toCsv({ columns: ['a'], rows: [['=1'], ['@x'], [-5], ['a-b']] }, true)).toBe(
      "a\r\n'=1\r\n'@x\r\n-5\r\na-b\r\n",
    )
  })

  test('Markdown is one row a line', () => {
    expect(toMarkdown({ columns: ['id', 'x|y'], rows: [[1, 'a|b\\\nc']] })).toBe(
      '| id | x\\|y |\n| ---: | --- |\n| 1 | a\\|b\\\\<br>c |\n',
    )
    expect(toMarkdown({ columns: ['n'], rows: [[null]] })).toBe('| n |\n| --- |\n| NULL |\n')
  })
})

describe('cells', () => {
  test('columns are known by their names', () => {
    expect(['id', 'event_id', 'opened_id', 'tid', 'valid'].filter(isEventColumn)).toEqual([
      'id',
      'event_id',
      'opened_id',
    ])
    expect(['t_ns', 'ns', 'ids', 'bins'].filter(isTimeColumn)).toEqual(['t_ns', 'ns'])
  })

  test.each([
    [0, '0 ns'],
    [999, '999 ns'],
    [1_500, '1.500 µs'],
    [45_210_000, '45.210 ms'],
    [-2_000_000_000, '-2.000 s'],
    [2n ** 60n, '1152921504.607 s'],
  ])('%s ns is %s', (ns, text) => {
    expect(readableTime(ns)).toBe(text)
  })

  test('a column is as wide as its values, within reason', () => {
    expect(columnWidths(['id', 'text', 'long'], [[12345678, '届く届く', 'x'.repeat(500)]])).toEqual([
      8, 8, 56,
    ])
    expect(columnWidths(['t_ns'], [[222_160]])).toEqual(['222.160 µs'.length])
    expect([isCut('x'.repeat(57)), isCut('x'.repeat(56)), isCut('a\nb'), isCut(null)]).toEqual([
      true,
      false,
      true,
      false,
    ])
  })
})

describe('own queries', () => {
  test('the newest comes first, each once, twenty at most', () => {
    let queries: string[] = []
    for (let n = 0; n < 25; n++) queries = remember(queries, ` select ${n} `)
    expect(queries).toHaveLength(20)
    expect(queries[0]).toBe('select 24')
    expect(remember(queries, 'select 10').slice(0, 2)).toEqual(['select 10', 'select 24'])
    expect(remember(['a'], '  ')).toEqual(['a'])
  })

  test('they are kept by lab, and what cannot be read is nothing', () => {
    const kept = new Map<string, string>()
    const store = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    }
    saveQueries(store, 'one', ['select 1'])
    expect(loadQueries(store, 'one')).toEqual(['select 1'])
    expect(loadQueries(store, 'two')).toEqual([])
    kept.set([...kept.keys()][0] ?? '', '{"a":')
    expect(loadQueries(store, 'one')).toEqual([])
  })
})
