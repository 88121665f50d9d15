/** The calls about an attempt's evidence, and their types. */
import { failureFrom, networkFailure } from './failure.ts'

export interface Column {
  name: string
  type: string
  about: string
}

export interface Table {
  name: string
  kind: 'table' | 'view'
  about: string
  columns: Column[]
}

export interface SqlFunction {
  name: string
  signature: string
  about: string
}

/** What a query may speak of. */
export interface EvidenceSchema {
  version: number
  tables: Table[]
  functions?: SqlFunction[]
}

/** A value of SQLite's: null, a number, a text. Integers beyond 2^53 are `bigint`, so that none is rounded. */
export type Cell = null | number | bigint | string

export interface Answer {
  columns: string[]
  rows: Cell[][]
  /** Whether there were more rows than are sent. */
  truncated: boolean
  wall_ms: number
}

export type Params = Record<string, string | number | null>

export async function getEvidenceSchema(): Promise<EvidenceSchema> {
  return JSON.parse(await send('/api/v1/evidence', {})) as EvidenceSchema
}

export async function queryAttempt(
  attemptId: string,
  query: { sql: string; params?: Params },
  signal?: AbortSignal,
): Promise<Answer> {
  const text = await send(`/api/v1/attempts/${encodeURIComponent(attemptId)}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(query),
    ...(signal ? { signal } : {}),
  })
  return parseExactly(text) as Answer
}

export function sqliteUrl(attemptId: string): string {
  return `/api/v1/attempts/${encodeURIComponent(attemptId)}/evidence.sqlite`
}

export function traceEventsUrl(runId: string): string {
  return `/api/v1/runs/${encodeURIComponent(runId)}/trace.json`
}

/** As `JSON.parse`, but integers that a double cannot hold become `bigint` (where the browser shows the source). */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
    return context?.source && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value
  })
}

/** The body's text. A call that was taken back throws the browser's `AbortError`, every other fault a `Failure`. */
async function send(url: string, init: RequestInit): Promise<string> {
  try {
    const response = await fetch(url, { credentials: 'same-origin', ...init })
    const text = await response.text()
    if (!response.ok) throw failureFrom(response.status, readable(text))
    return text
  } catch (error) {
    if (error instanceof TypeError) throw networkFailure(error)
    throw error
  }
}

function readable(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
