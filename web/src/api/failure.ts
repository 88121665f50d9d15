/** One complaint about one field, as in RFC 9457 extended by our API. */
export interface FieldFault {
  field: string
  code: string
  message: string
}

/** A place in a text that was sent, both from 1; the column counts characters. */
export interface Position {
  line: number
  column: number
}

/** Why a call did not succeed. `code` is the API's stable code, or `network` when no answer came at all. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly status: number
  readonly code: string
  readonly faults: readonly FieldFault[]
  readonly requestId: string | null
  /** Where in a query the mistake is, where the server knows. */
  readonly position: Position | null
  /** Which bound a query met (`time`, `rows`, ...). */
  readonly bound: string | null

  constructor(
    message: string,
    about: {
      status: number
      code: string
      faults?: readonly FieldFault[]
      requestId?: string | null
      position?: Position | null
      bound?: string | null
    },
  ) {
    super(message)
    this.status = about.status
    this.code = about.code
    this.faults = about.faults ?? []
    this.requestId = about.requestId ?? null
    this.position = about.position ?? null
    this.bound = about.bound ?? null
  }

  get isNetwork(): boolean {
    return this.code === 'network'
  }

  get isNotFound(): boolean {
    return this.status === 404
  }

  /** Faults whose field is `prefix` or lies below it (`files`, `files.read.js`; `answers`, `answers.tid`). */
  faultsOf(prefix: string): FieldFault[] {
    return this.faults.filter(({ field }) => field === prefix || field.startsWith(`${prefix}.`))
  }
}

export function networkFailure(cause: unknown): Failure {
  const failure = new Failure('no answer from the server', { status: 0, code: 'network' })
  failure.cause = cause
  return failure
}

/** Reads an error body; whatever a proxy on the way may have sent instead becomes a plain `http` failure. */
export function failureFrom(status: number, body: unknown): Failure {
  const fields = isRecord(body) ? body : {}
  const text = (key: string) => (typeof fields[key] === 'string' ? fields[key] : null)
  return new Failure(text('detail') ?? text('title') ?? `HTTP ${status}`, {
    status,
    code: text('code') ?? 'http',
    faults: Array.isArray(fields['errors']) ? fields['errors'].filter(isFieldFault) : [],
    requestId: text('request_id'),
    position: isPosition(fields['position']) ? fields['position'] : null,
    bound: text('bound'),
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isFieldFault(value: unknown): value is FieldFault {
  return isRecord(value) && typeof value['field'] === 'string' && typeof value['message'] === 'string'
}

function isPosition(value: unknown): value is Position {
  return isRecord(value) && typeof value['line'] === 'number' && typeof value['column'] === 'number'
}
