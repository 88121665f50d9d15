/**
 * Browsers clip an element at 17 to 33 million pixels, fewer than the lines of a large trace are high. Above
 * `TALLEST` the scrolled element is shorter than what it stands for: small moves then go pixel by pixel, large ones
 * (a dragged scrollbar) in proportion.
 */
export const TALLEST = 15_000_000

export interface Scroll {
  /** Where in the whole height the window begins, in pixels. */
  top: number
  /** `scrollTop` of the element at that moment. */
  at: number
}

export function spacerHeight(total: number): number {
  return Math.min(total, TALLEST)
}

/** Where the window is after the element was scrolled to `at`. `view` is the height of the window. */
export function follow(now: Scroll, at: number, total: number, view: number): Scroll {
  if (total <= TALLEST) return { top: at, at }
  const end = TALLEST - view
  if (at <= 0) return { top: 0, at }
  if (at >= end) return { top: total - view, at }
  const step = at - now.at
  const top = Math.abs(step) <= view ? now.top + step : (at / end) * (total - view)
  return { top: clamp(top, 0, total - view), at }
}

/** The `scrollTop` that stands for `top`. */
export function scrollTopFor(top: number, total: number, view: number): number {
  if (total <= TALLEST) return top
  return (top / (total - view)) * (TALLEST - view)
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), Math.max(low, high))
}
