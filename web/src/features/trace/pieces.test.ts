import { describe, expect, test } from 'vitest'
import { matchesIn, piecesOf } from './pieces.ts'

const LINE =
  '42    1796068214.567741 openat(AT_FDCWD</lab>, "/x = -1 ENOENT (y)", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000045>'

describe('the pieces of a line', () => {
  test('a call is cut into thread, time, name and error', () => {
    const pieces = piecesOf(LINE, '')
    expect(pieces.map(({ kind, text }) => [kind, text])).toEqual([
      ['thread', '42'],
      ['time', '    1796068214.567741 '],
      ['name', 'openat'],
      ['plain', '(AT_FDCWD</lab>, "/x = -1 ENOENT (y)", O_RDONLY) '],
      ['error', '= -1 ENOENT (No such file or directory)'],
      ['plain', ' <0.000045>'],
    ])
  })

  test.each([
    '',
    'x',
    '42',
    '[pid  7] 12:00:01 read(3) = 0',
    '7<node> 1.5 <... read resumed>) = ? ERESTARTSYS (To be restarted)',
    '     0.000008 brk(NULL) = 0x55',
    'strace: Process 9 attached',
    LINE,
  ])('%j is whole when joined, whatever is looked for', (line) => {
    for (const needle of ['', 'e', 'READ', '67741 open', line]) {
      expect(
        piecesOf(line, needle)
          .map(({ text }) => text)
          .join(''),
      ).toBe(line)
    }
  })

  test('a match may go over pieces, and letters are compared large and small', () => {
    const marked = piecesOf(LINE, '741 OPEN').filter(({ match }) => match)
    expect(marked.map(({ kind, text }) => [kind, text])).toEqual([
      ['time', '741 '],
      ['name', 'open'],
    ])
    expect(matchesIn('aAa', 'a')).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ])
  })
})
