/** What the page and the worker that holds a trace say to each other. */
import type { Counted, LineDetails, ShownLine } from './trace-book.ts'
import type { Filter } from './trace-filter.ts'

/** A trace to fetch, with the sizes that the run is known to have. */
export interface Source {
  url: string
  bytes: number
  lines: number
}

export interface Contents {
  lines: number
  threads: Counted<number>[]
  calls: Counted<string>[]
}

/** What is shown under a filter. `version` numbers the filters, so that late rows of an older one are known. */
export interface Shown {
  version: number
  rows: number
  matches: number
}

export interface Rows {
  version: number
  from: number
  lines: ShownLine[]
}

/** Each question with its answer. */
export interface Questions {
  filter: { ask: Filter; answer: Shown | null }
  rows: { ask: { from: number; to: number }; answer: Rows }
  rowOf: { ask: { line: number }; answer: { row: number; exact: boolean } }
  match: { ask: { row: number; step: 1 | -1 }; answer: number | null }
  details: { ask: { line: number }; answer: LineDetails | null }
}

export type Topic = keyof Questions
export type Asked = { [T in Topic]: { id: number; topic: T; ask: Questions[T]['ask'] } }[Topic]
export type ToWorker = { open: Source } | Asked

export type FromWorker =
  | { progress: number }
  | { opened: Contents }
  /** What `failureFrom` takes; status 0 when no answer came. */
  | { failed: { status: number; body: unknown } }
  | { id: number; answer: Questions[Topic]['answer'] }
