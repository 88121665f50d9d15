/** An answer as text for other programs. Values are exact, whatever the table shows. */
import type { Answer, Cell } from '../../api/evidence.ts'

/**
 * RFC 4180, with a line of names. NULL is an empty field, the empty text a quoted one. `tame` puts an apostrophe
 * before texts that a spreadsheet would take for a formula; then they are no longer exact.
 */
export function toCsv({ columns, rows }: Pick<Answer, 'columns' | 'rows'>, tame = false): string {
  const field = (cell: Cell): string => {
    if (cell === null) return ''
    if (typeof cell !== 'string') return String(cell)
    const text = tame && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
    return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return [columns, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('')
}

/** A table as GitHub Flavored Markdown has it; numbers to the right. */
export function toMarkdown({ columns, rows }: Pick<Answer, 'columns' | 'rows'>): string {
  const field = (cell: Cell): string =>
    cell === null
      ? 'NULL'
      : String(cell)
          .replaceAll('\\', '\\\\')
          .replaceAll('|', '\\|')
          .replaceAll(/\r\n|\r|\n/g, '<br>')
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  const rule = columns.map((_, at) => {
    const values = rows.map((row) => row[at]).filter((cell) => cell !== null)
    return values.length && values.every((cell) => typeof cell !== 'string') ? '---:' : '---'
  })
  return [columns.map(field), rule, ...rows.map((row) => row.map(field))].map(line).join('')
}
