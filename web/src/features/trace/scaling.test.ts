import { describe, expect, test } from 'vitest'
import { follow, scrollTopFor, spacerHeight, TALLEST, type Scroll } from './scaling.ts'

const VIEW = 600

describe('a list that fits', () => {
  test('is scrolled as it is', () => {
    expect(spacerHeight(14_000_000)).toBe(14_000_000)
    expect(follow({ top: 5, at: 5 }, 7_000_000, 14_000_000, VIEW)).toEqual({ top: 7_000_000, at: 7_000_000 })
    expect(scrollTopFor(123, 14_000_000, VIEW)).toBe(123)
  })
})

describe('a list taller than an element may be', () => {
  const total = 60_000_000
  const start: Scroll = { top: 0, at: 0 }

  test('moves by pixels in small steps', () => {
    let scroll = follow(start, 6_000_000, total, VIEW)
    const { top } = scroll
    for (let step = 1; step <= 5; step++) scroll = follow(scroll, 6_000_000 + step * 100, total, VIEW)
    expect(scroll.top).toBe(top + 500)
  })

  test('moves in proportion in large ones, and reaches both ends', () => {
    expect(spacerHeight(total)).toBe(TALLEST)
    const half = follow(start, (TALLEST - VIEW) / 2, total, VIEW)
    expect(half.top).toBeCloseTo((total - VIEW) / 2, 3)
    expect(follow(half, TALLEST - VIEW, total, VIEW).top).toBe(total - VIEW)
    expect(follow(half, 0, total, VIEW).top).toBe(0)
  })

  test('every place has a scrollTop that leads back to it', () => {
    for (const top of [0, 1_000, 30_000_000, total - VIEW]) {
      const at = scrollTopFor(top, total, VIEW)
      expect(follow({ top: -1e9, at: -1e9 }, at, total, VIEW).top).toBeCloseTo(top, 3)
    }
  })
})
