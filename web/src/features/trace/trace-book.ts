/**
 * The whole text of a trace as bytes, with one number per line and fact beside it, never an object or a string per
 * line: a trace may have 64 MiB and a million lines.
 */
import { bytesOf, readLeader } from './leader.ts'

export interface Counted<T> {
  value: T
  lines: number
}

export interface ShownLine {
  /** Number of the line in the trace, from 1. */
  line: number
  text: string
  /** Bytes of the line that are not in `text`. */
  cut: number
}

export interface LineDetails extends ShownLine {
  tid: number
  name: string
  /** Line of its other half, where the call was broken in two. */
  partner: number | null
}

const LINE_END = 0x0a
const RETURN = 0x0d
/** Names get a 16-bit number; a text with more of them is no trace. */
const MOST_NAMES = 65_535

export class TraceBook {
  lines = 0
  private bytes: Uint8Array
  private size = 0
  private starts: Uint32Array<ArrayBuffer>
  private tids: Uint32Array<ArrayBuffer>
  private names: Uint16Array<ArrayBuffer>
  private halves: Uint8Array<ArrayBuffer>
  private readonly nameIds = new Map<string, number>([['', 0]])
  private readonly nameTexts: string[] = ['']
  private readonly decoder = new TextDecoder()

  /** Sizes are what is expected; more is taken as well. */
  constructor(expected: { bytes: number; lines: number }) {
    this.bytes = new Uint8Array(expected.bytes)
    const lines = Math.max(expected.lines, 16) + 1
    this.starts = new Uint32Array(lines)
    this.tids = new Uint32Array(lines)
    this.names = new Uint16Array(lines)
    this.halves = new Uint8Array(lines)
  }

  /** Takes the next piece of the text; lines are indexed as they become whole. */
  add(piece: Uint8Array): void {
    if (this.size + piece.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.size + piece.length))
      larger.set(this.bytes.subarray(0, this.size))
      this.bytes = larger
    }
    this.bytes.set(piece, this.size)
    let seen = this.size
    this.size += piece.length
    const text = this.bytes.subarray(0, this.size)
    for (let end = text.indexOf(LINE_END, seen); end >= 0; end = text.indexOf(LINE_END, seen)) {
      this.endLine(end)
      seen = end + 1
    }
  }

  /** The last line may have no end. */
  finish(): void {
    if (this.size > (this.starts[this.lines] ?? 0)) this.endLine(this.size)
  }

  private endLine(end: number): void {
    if (this.lines + 2 > this.starts.length) this.growLines()
    const at = this.lines
    const start = this.starts[at] ?? 0
    const { tid, nameFrom, nameTo, half } = readLeader(this.bytes, start, this.textEnd(start, end))
    this.tids[at] = tid
    this.names[at] = this.nameId(nameFrom, nameTo)
    this.halves[at] = half
    this.lines += 1
    this.starts[this.lines] = end + 1
  }

  private growLines(): void {
    const length = this.starts.length * 2
    const grow = <A extends Uint32Array | Uint16Array | Uint8Array>(larger: A, old: A): A => {
      larger.set(old)
      return larger
    }
    this.starts = grow(new Uint32Array(length), this.starts)
    this.tids = grow(new Uint32Array(length), this.tids)
    this.names = grow(new Uint16Array(length), this.names)
    this.halves = grow(new Uint8Array(length), this.halves)
  }

  private nameId(from: number, to: number): number {
    const text = String.fromCharCode.apply(null, this.bytes.subarray(from, to) as unknown as number[])
    const known = this.nameIds.get(text)
    if (known !== undefined || this.nameTexts.length > MOST_NAMES) return known ?? 0
    this.nameIds.set(text, this.nameTexts.length)
    return this.nameTexts.push(text) - 1
  }

  private textEnd(start: number, end: number): number {
    return end > start && this.bytes[end - 1] === RETURN ? end - 1 : end
  }

  /** Where the line with this index (from 0) begins and ends. */
  private spanOf(index: number): [from: number, to: number] {
    const from = this.starts[index] ?? 0
    const next = this.starts[index + 1] ?? 0
    return [from, this.textEnd(from, Math.min(next - 1, this.size))]
  }

  /** The threads, in the order in which they appear. */
  threads(): Counted<number>[] {
    const counts = new Map<number, number>()
    for (let at = 0; at < this.lines; at++) {
      const tid = this.tids[at] ?? 0
      if (tid) counts.set(tid, (counts.get(tid) ?? 0) + 1)
    }
    return [...counts].map(([value, lines]) => ({ value, lines }))
  }

  /** The names of calls and signals, the most frequent first. */
  callNames(): Counted<string>[] {
    const counts = new Uint32Array(this.nameTexts.length)
    for (let at = 0; at < this.lines; at++) {
      const name = this.names[at] ?? 0
      counts[name] = (counts[name] ?? 0) + 1
    }
    return this.nameTexts
      .map((value, id) => ({ value, lines: counts[id] ?? 0 }))
      .filter(({ value }) => value !== '')
      .toSorted((a, b) => b.lines - a.lines || a.value.localeCompare(b.value))
  }

  /** Whether the line with this index is of the thread (null: any) and has one of the names (null: any). */
  isOf(index: number, tid: number | null, names: Uint8Array | null): boolean {
    return (
      (tid === null || this.tids[index] === tid) && (names === null || names[this.names[index] ?? 0] === 1)
    )
  }

  /** The names that `wanted` means, as one flag per name: the name itself, else all that begin so. */
  namesLike(wanted: readonly string[]): Uint8Array {
    const flags = new Uint8Array(this.nameTexts.length)
    for (const word of wanted) {
      const exact = this.nameIds.get(word)
      if (exact !== undefined) flags[exact] = 1
      else this.nameTexts.forEach((name, id) => name.startsWith(word) && (flags[id] = 1))
    }
    return flags
  }

  /** Whether the line holds the text; `needle` as `needleOf` makes it. */
  holds(index: number, needle: Uint8Array): boolean {
    const [from, to] = this.spanOf(index)
    const [bytes, first, last] = [this.bytes, needle[0], to - needle.length]
    for (let at = from; at <= last; at++) {
      if (lower(bytes[at] ?? 0) !== first) continue
      let n = 1
      while (n < needle.length && lower(bytes[at + n] ?? 0) === needle[n]) n++
      if (n === needle.length) return true
    }
    return false
  }

  /** How far into the text a line is: for who wants to know how much was searched. */
  offsetOf(index: number): number {
    return this.starts[index] ?? 0
  }

  show(index: number, longest: number): ShownLine {
    const [from, to] = this.spanOf(index)
    const end = Math.min(to, from + longest)
    return { line: index + 1, text: this.decoder.decode(this.bytes.subarray(from, end)), cut: to - end }
  }

  details(index: number, longest: number): LineDetails {
    const partner = this.partnerOf(index)
    return {
      ...this.show(index, longest),
      tid: this.tids[index] ?? 0,
      name: this.nameTexts[this.names[index] ?? 0] ?? '',
      partner: partner === null ? null : partner + 1,
    }
  }

  /** A thread is in one call at a time: its nearest other half of the same name is the one. */
  private partnerOf(index: number): number | null {
    const half = this.halves[index]
    if (!half) return null
    const [step, wanted] = half === 1 ? [1, 2] : [-1, 1]
    for (let at = index + step; at >= 0 && at < this.lines; at += step) {
      if (this.tids[at] !== this.tids[index] || this.halves[at] === 0) continue
      return this.halves[at] === wanted && this.names[at] === this.names[index] ? at : null
    }
    return null
  }
}

/** A text to look for, in ASCII small letters: strace escapes all else. Empty for nothing to look for. */
export function needleOf(text: string): Uint8Array {
  return bytesOf(text).map(lower)
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte
}
