import { expect, test } from 'vitest'
import { splitTraceLine } from './trace-line.ts'

test('a call is cut into thread, time and call', () => {
  const line = '42    1796068214.567741 openat(AT_FDCWD</lab>, "/etc/os-release", O_RDONLY) = 17 <0.000045>'
  expect(splitTraceLine(line)).toEqual({
    tid: '42',
    time: '1796068214.567741',
    call: 'openat(AT_FDCWD</lab>, "/etc/os-release", O_RDONLY) = 17 <0.000045>',
  })
})

test.each(['', 'threads: 0', 'openat(AT_FDCWD, "x") = 3', '42 openat()'])('%j is shown as it is', (line) => {
  expect(splitTraceLine(line)).toBeNull()
})
