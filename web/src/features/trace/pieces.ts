/** A line of strace text cut into pieces for the eye. Joined they are the line again, character for character. */
export interface Piece {
  kind: 'thread' | 'time' | 'name' | 'error' | 'plain'
  text: string
  /** Whether it is (part of) what is looked for. */
  match: boolean
}

const LEADER = /^(\s*(?:\[pid\s+\d+\]|\d+(?:<[^>]*>)?(?=\s)))?(\s*(?:(?:\d[\d.:]*|\(\+[^)]*\))\s+)*)/
const NAME = /^(?:<\.\.\. |--- |\+\+\+ )?\w+/
const ERROR = /= (?:-1|\?) E[A-Z0-9]+(?: \([^()]*\))?(?= <[\d.]+>$|$)/

export function piecesOf(line: string, needle: string): Piece[] {
  const [leader = '', thread = '', time = ''] = LEADER.exec(line) ?? []
  const call = line.slice(leader.length)
  const [name = ''] = NAME.exec(call) ?? []
  const rest = call.slice(name.length)
  const error = ERROR.exec(rest)
  const errorAt = error ? error.index : rest.length
  const errorText = error?.[0] ?? ''
  const plain = (
    [
      ['thread', thread],
      ['time', time],
      ['name', name],
      ['plain', rest.slice(0, errorAt)],
      ['error', errorText],
      ['plain', rest.slice(errorAt + errorText.length)],
    ] as const
  ).filter(([, text]) => text !== '')
  return mark(plain, matchesIn(line, needle))
}

/** Where `needle` stands in `line`, large and small letters alike. */
export function matchesIn(line: string, needle: string): [from: number, to: number][] {
  if (!needle) return []
  // Small letters of ASCII alone, as in the worker: others could change the length.
  const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const [text, wanted] = [lower(line), lower(needle)]
  const found: [number, number][] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    found.push([at, at + wanted.length])
  }
  return found
}

function mark(parts: readonly (readonly [Piece['kind'], string])[], found: [number, number][]): Piece[] {
  const pieces: Piece[] = []
  let begin = 0
  for (const [kind, text] of parts) {
    const end = begin + text.length
    const cuts = found
      .flat()
      .filter((at) => at > begin && at < end)
      .concat(end)
    let from = begin
    for (const to of cuts) {
      const start = from
      const match = found.some(([a, b]) => a <= start && to <= b)
      pieces.push({ kind, text: text.slice(from - begin, to - begin), match })
      from = to
    }
    begin = end
  }
  return pieces
}
