/** One line of strace text, cut where the eye wants it cut. Joined with spaces the parts are the line again. */
export interface TraceLine {
  tid: string
  time: string
  call: string
}

/** Null for a line of another form: it is then shown as it is. */
export function splitTraceLine(text: string): TraceLine | null {
  const [, tid, time, call] = /^\s*(\d+)\s+(\d+\.\d+)\s+(\S.*)$/.exec(text) ?? []
  return tid && time && call ? { tid, time, call } : null
}
