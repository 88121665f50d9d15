import type { Cell } from '../../api/evidence.ts'

export type Align = 'start' | 'end'

/** Whether the integers of a column are ids of events, which lead to a line of the trace. */
export function isEventColumn(name: string): boolean {
  return name === 'id' || name.endsWith('_id')
}

/** Whether a column holds nanoseconds, by the rule that names end in their unit. */
export function isTimeColumn(name: string): boolean {
  return name === 'ns' || name.endsWith('_ns')
}

export function isNumber(cell: Cell): cell is number | bigint {
  return typeof cell === 'number' || typeof cell === 'bigint'
}

/** The value as SQLite has it; null and the empty text are told apart by who shows them. */
export function exactText(cell: Cell): string {
  return cell === null ? 'NULL' : String(cell)
}

const STEPS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
] as const

/** Nanoseconds in the largest unit that leaves one digit before the point, with three digits behind it. */
export function readableTime(ns: number | bigint): string {
  const value = Number(ns)
  const [size, unit] = STEPS.find(([step]) => Math.abs(value) >= step) ?? [1, 'ns']
  return size === 1 ? `${value} ns` : `${(value / size).toFixed(3)} ${unit}`
}

const [NARROWEST, WIDEST] = [4, 56]

/** The width of each column in characters: what its values need, within reason. Wide (CJK) characters take two. */
export function columnWidths(columns: readonly string[], rows: readonly (readonly Cell[])[]): number[] {
  return columns.map((name, at) => {
    let widest = widthOf(name)
    for (const row of rows) {
      if (widest >= WIDEST) break
      const cell = row[at] ?? null
      widest = Math.max(widest, widthOf(exactText(cell)))
      if (isTimeColumn(name) && isNumber(cell)) widest = Math.max(widest, readableTime(cell).length)
    }
    return Math.min(Math.max(widest, NARROWEST), WIDEST)
  })
}

/** Whether a value is longer than its column is wide. */
export function isCut(cell: Cell): boolean {
  return typeof cell === 'string' && (cell.includes('\n') || widthOf(cell) > WIDEST)
}

function widthOf(text: string): number {
  let width = 0
  for (let at = 0; at < text.length && width <= WIDEST; at++) width += text.charCodeAt(at) > 0x2e7f ? 2 : 1
  return width
}
