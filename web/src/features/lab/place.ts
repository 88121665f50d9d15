/**
 * What of an attempt is looked at, as the part of the address after `#`: it never reaches the server, so a query of
 * any length may stand there. `#trace/<run>/<line>`, `#trace/<run>~<try>/<line>`, `#explorer/<sql>`.
 */
export type View = 'report' | 'trace' | 'explorer'

export interface TracePlace {
  /** Label of the run; null for the first. */
  run: string | null
  tryNo: number
  line: number | null
}

export type Place =
  { view: 'report' } | { view: 'trace'; at: TracePlace } | { view: 'explorer'; sql: string | null }

export const NOWHERE: TracePlace = { run: null, tryNo: 1, line: null }

/** Null for a hash that is not about this. */
export function parsePlace(hash: string): Place | null {
  if (hash === '' || hash === '#') return { view: 'report' }
  const [, sql] = /^#explorer(?:\/(.*))?$/s.exec(hash) ?? []
  if (hash === '#explorer' || sql !== undefined) return { view: 'explorer', sql: sql || null }
  const trace = /^#trace(?:\/([a-z][a-z0-9_-]*)(?:~(\d{1,6}))?(?:\/(\d{1,9}))?)?$/.exec(hash)
  if (!trace) return null
  const [, run = null, tryNo, line] = trace
  return { view: 'trace', at: { run, tryNo: Number(tryNo ?? 1), line: line ? Number(line) : null } }
}

export function hashOf(place: Place): string {
  switch (place.view) {
    case 'report':
      return ''
    case 'explorer':
      return place.sql ? `#explorer/${place.sql}` : '#explorer'
    case 'trace': {
      const { run, tryNo, line } = place.at
      if (run === null) return '#trace'
      return `#trace/${run}${tryNo > 1 ? `~${tryNo}` : ''}${line === null ? '' : `/${line}`}`
    }
  }
}
