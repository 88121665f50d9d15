/** Which lines of a trace are shown, and which of them match: made in small steps, so that others can speak between. */
import { needleOf, type TraceBook } from './trace-book.ts'

export interface Filter {
  tid: number | null
  /** Names of calls as typed: several are set apart by spaces or commas. */
  calls: string
  text: string
  /** Whether lines without the text are left out, or only not marked. */
  matchesOnly: boolean
}

export const NO_FILTER: Filter = { tid: null, calls: '', text: '', matchesOnly: true }

/** Row numbers are places in what is shown, from 0. */
export interface View {
  /** Indices of the lines shown; null for all of them. */
  shown: Uint32Array | null
  rows: number
  /** Rows with the text looked for; null where every row is one. */
  matching: Uint32Array | null
  matches: number
}

/** A step looks at about so many bytes of text, or so many lines: far below one frame. */
const STEP_BYTES = 1_000_000
const STEP_LINES = 50_000

/** Yields between steps; the last value is the view. */
export function* filterLines(book: TraceBook, filter: Filter): Generator<undefined, View> {
  const words = filter.calls.split(/[\s,]+/).filter(Boolean)
  const names = words.length ? book.namesLike(words) : null
  const needle = needleOf(filter.text)
  if (filter.tid === null && !names && !needle.length) {
    return { shown: null, rows: book.lines, matching: null, matches: book.lines }
  }
  const shown = new Uint32Array(book.lines)
  const matching = new Uint32Array(needle.length && !filter.matchesOnly ? book.lines : 0)
  let [rows, matches, pauseAt, pauseLine] = [0, 0, STEP_BYTES, STEP_LINES]
  for (let index = 0; index < book.lines; index++) {
    if (book.offsetOf(index) >= pauseAt || index >= pauseLine) {
      yield
      pauseAt = book.offsetOf(index) + STEP_BYTES
      pauseLine = index + STEP_LINES
    }
    if (!book.isOf(index, filter.tid, names)) continue
    const matched = !needle.length || book.holds(index, needle)
    if (!matched && filter.matchesOnly) continue
    if (matched) {
      if (matching.length) matching[matches] = rows
      matches++
    }
    shown[rows++] = index
  }
  return {
    shown: rows === book.lines ? null : shown.slice(0, rows),
    rows,
    matching: matching.length ? matching.slice(0, matches) : null,
    matches,
  }
}

/** The index of the line in this row. */
export function lineAt(view: View, row: number): number {
  return view.shown ? (view.shown[row] ?? 0) : row
}

/** The row of a line, or of the next one shown; `exact` says which. */
export function rowOf(view: View, index: number): { row: number; exact: boolean } {
  if (!view.shown) return { row: Math.min(index, view.rows - 1), exact: index < view.rows }
  const row = firstNotBelow(view.shown, index)
  return { row: Math.min(row, view.rows - 1), exact: view.shown[row] === index }
}

/** The next row with a match after (`step` 1) or before (-1) `row`, round the end; null when there is none. */
export function nextMatch(view: View, row: number, step: 1 | -1): number | null {
  if (view.matches === 0) return null
  if (!view.matching) return (row + step + view.rows) % view.rows
  const at = firstNotBelow(view.matching, step === 1 ? row + 1 : row)
  const next = step === 1 ? at : at - 1
  return view.matching[(next + view.matches) % view.matches] ?? null
}

function firstNotBelow(sorted: Uint32Array, value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
