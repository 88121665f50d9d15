import { describe, expect, test } from 'vitest'
import { hashOf, NOWHERE, parsePlace, type Place } from './place.ts'

const PLACES: [string, Place][] = [
  ['', { view: 'report' }],
  ['#trace', { view: 'trace', at: NOWHERE }],
  ['#trace/default', { view: 'trace', at: { run: 'default', tryNo: 1, line: null } }],
  ['#trace/pool-8/231', { view: 'trace', at: { run: 'pool-8', tryNo: 1, line: 231 } }],
  ['#trace/default~3/7', { view: 'trace', at: { run: 'default', tryNo: 3, line: 7 } }],
  ['#explorer', { view: 'explorer', sql: null }],
  ["#explorer/select '#/100%',\n  1 -- ~", { view: 'explorer', sql: "select '#/100%',\n  1 -- ~" }],
]

describe('the place in the address', () => {
  test.each(PLACES)('%j is read and written', (hash, place) => {
    expect(parsePlace(hash)).toEqual(place)
    expect(hashOf(place)).toBe(hash)
  })

  test.each(['#main', '#tracer', '#trace/UP', '#trace/default/x', '#explorers'])(
    '%j is about something else',
    (hash) => {
      expect(parsePlace(hash)).toBeNull()
    },
  )
})
