import type { Position } from '../../api/failure.ts'

/**
 * The part of a query to mark for a place the server names: the word there, or the character. Lines and columns
 * count from 1, columns in characters, which may be two units of a JavaScript string. A place outside the text
 * becomes its nearest end.
 */
export function rangeAt(sql: string, { line, column }: Position): { from: number; to: number } {
  const lines = sql.split('\n')
  const row = Math.min(Math.max(line, 1), lines.length) - 1
  const before = lines.slice(0, row).reduce((sum, text) => sum + text.length + 1, 0)
  const text = lines[row] ?? ''
  const characters = [...text]
  const at = Math.min(Math.max(column, 1) - 1, characters.length)
  const from = before + characters.slice(0, at).join('').length
  const word = /^\w+/.exec(sql.slice(from))?.[0]
  const character = String.fromCodePoint(sql.codePointAt(from) ?? 0)
  const to = Math.min(from + (word ?? character).length, sql.length)
  // At the very end there is nothing to mark but what stands before.
  return from === sql.length && from > 0 ? { from: from - 1, to: from } : { from, to }
}
