/** What stands before a call in a line of strace text (docs/trace-text.md), read from its bytes. */

export interface Leader {
  /** The thread; 0 where the line names none. */
  tid: number
  /** Where the name of the call or signal stands; empty where there is none. */
  nameFrom: number
  nameTo: number
  /** A line that strace had to break: its first half, its second half, or neither. */
  half: 0 | 1 | 2
}

const [SPACE, TAB, PLUS, MINUS, DOT, COLON, LESS, GREATER, OPEN, CLOSE, SQUARE_END] = [
  0x20, 0x09, 0x2b, 0x2d, 0x2e, 0x3a, 0x3c, 0x3e, 0x28, 0x29, 0x5d,
]
/** No thread has a larger number: proc(5), `pid_max`. A larger one is a time. */
const LARGEST_TID = 4_194_304
const UNFINISHED = bytesOf('<unfinished ...>')
const RESUMED = bytesOf('<... ')
const PID = bytesOf('[pid')

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Reads the line `bytes[from..to)`, which has no line end. Any line can be read; what is odd has no name. */
export function readLeader(bytes: Uint8Array, from: number, to: number): Leader {
  let at = skipSpaces(bytes, from, to)
  let tid = 0
  if (startsWith(bytes, at, to, PID)) {
    const digits = skipSpaces(bytes, at + PID.length, to)
    const end = skipDigits(bytes, digits, to)
    if (end > digits && bytes[end] === SQUARE_END) {
      tid = number(bytes, digits, end)
      at = end + 1
    }
  } else {
    const end = skipDigits(bytes, at, to)
    const value = number(bytes, at, end)
    const next = end < to ? bytes[end] : SPACE
    if (end > at && value <= LARGEST_TID && (next === SPACE || next === TAB || next === LESS)) {
      tid = value
      at = next === LESS ? skipPast(bytes, end, to, GREATER) : end
    }
  }
  return readCall(bytes, skipTimes(bytes, at, to), to, tid)
}

function readCall(bytes: Uint8Array, from: number, to: number, tid: number): Leader {
  let at = from
  const second = startsWith(bytes, at, to, RESUMED)
  if (second) at += RESUMED.length
  else if (isSignal(bytes, at, to)) at += 4
  const nameTo = skipName(bytes, at, to)
  const first = endsWith(bytes, at, to, UNFINISHED)
  return { tid, nameFrom: at, nameTo, half: second ? 2 : first ? 1 : 0 }
}

/** `--- SIGTERM ...` and `+++ exited ...`. */
function isSignal(bytes: Uint8Array, at: number, to: number): boolean {
  const sign = bytes[at]
  if (at + 4 > to || (sign !== MINUS && sign !== PLUS)) return false
  return bytes[at + 1] === sign && bytes[at + 2] === sign && bytes[at + 3] === SPACE
}

/** Clock times, epoch times and time steps, one or two of them, and the spaces around. */
function skipTimes(bytes: Uint8Array, from: number, to: number): number {
  let at = skipSpaces(bytes, from, to)
  for (let times = 0; times < 2 && at < to; times++) {
    let end = at
    if (bytes[at] === OPEN && bytes[at + 1] === PLUS) end = skipPast(bytes, at, to, CLOSE)
    else while (end < to && (isDigit(bytes[end]) || bytes[end] === DOT || bytes[end] === COLON)) end++
    if (end === at || end >= to || bytes[end] !== SPACE) break
    at = skipSpaces(bytes, end, to)
  }
  return at
}

function skipSpaces(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && (bytes[at] === SPACE || bytes[at] === TAB)) at++
  return at
}

function skipDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && isDigit(bytes[at])) at++
  return at
}

function skipPast(bytes: Uint8Array, from: number, to: number, wanted: number): number {
  const found = bytes.subarray(from, to).indexOf(wanted)
  return found < 0 ? from : from + found + 1
}

/** Letters, digits and `_`; the longest name of a call has 23 of them. */
function skipName(bytes: Uint8Array, from: number, to: number): number {
  const end = Math.min(to, from + 64)
  let at = from
  while (at < end && isWord(bytes[at])) at++
  return at
}

function number(bytes: Uint8Array, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + ((bytes[at] ?? 0) - 0x30)
  return value
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function isWord(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return isDigit(byte) || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f
}

function startsWith(bytes: Uint8Array, at: number, to: number, text: Uint8Array): boolean {
  if (at + text.length > to) return false
  for (let n = 0; n < text.length; n++) if (bytes[at + n] !== text[n]) return false
  return true
}

function endsWith(bytes: Uint8Array, from: number, to: number, text: Uint8Array): boolean {
  return to - text.length >= from && startsWith(bytes, to - text.length, to, text)
}
