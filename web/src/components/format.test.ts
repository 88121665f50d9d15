import { expect, test } from 'vitest'
import { formatBytes, formatCount } from './format.ts'

test.each([
  [0, '0 byte'],
  [999, '999 byte'],
  [133_400, '133.4 kB'],
  [58_300_000, '58.3 MB'],
  [5_000_000_000_000, '5,000 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes, 'en')).toBe(text)
})

test('counts are grouped', () => {
  expect(formatCount(12345, 'ja')).toBe('12,345')
})
