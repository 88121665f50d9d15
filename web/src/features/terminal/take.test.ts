import { expect, test } from 'vitest'
import { takeBack } from './take.ts'

test('a terminal’s text wins, what it lacks stays, and what the lab has no place for is named', () => {
  const taken = takeBack(
    { 'a.js': '1', 'b.js': '2', 'c.js': '3' },
    { 'a.js': '1', 'b.js': 'new', 'd.js': '4' },
  )
  expect(taken).toEqual({
    files: { 'a.js': '1', 'b.js': 'new', 'c.js': '3' },
    changed: ['b.js'],
    others: ['d.js'],
  })
})
