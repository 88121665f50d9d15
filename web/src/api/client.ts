import createClient from 'openapi-fetch'
import { failureFrom, networkFailure } from './failure.ts'
import type { paths } from './schema.d.ts'
import type {
  Answers,
  Attempt,
  AttemptList,
  Files,
  Lab,
  LabSummary,
  Lang,
  Terminal,
  TerminalOffer,
} from './types.ts'

const client = createClient<paths>({ baseUrl: '/', credentials: 'same-origin' })

interface Reply<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of a successful answer; everything else is thrown as a `Failure`. */
async function body<T>(call: Promise<Reply<T>>): Promise<T> {
  const reply = await call.catch((cause: unknown) => {
    throw networkFailure(cause)
  })
  if (!reply.response.ok || reply.data === undefined) throw failureFrom(reply.response.status, reply.error)
  return reply.data
}

export async function listLabs(lang: Lang): Promise<LabSummary[]> {
  return (await body(client.GET('/api/v1/labs', { params: { query: { lang } } }))).items
}

export function getLab(slug: string, lang: Lang): Promise<Lab> {
  return body(client.GET('/api/v1/labs/{slug}', { params: { path: { slug }, query: { lang } } }))
}

export function listAttempts(query: {
  lang: Lang
  lab?: string
  cursor?: string
  limit?: number
}): Promise<AttemptList> {
  return body(client.GET('/api/v1/attempts', { params: { query } }))
}

export function createAttempt(lab: string, files: Files, answers: Answers, lang: Lang): Promise<Attempt> {
  return body(client.POST('/api/v1/attempts', { params: { query: { lang } }, body: { lab, files, answers } }))
}

export function getAttempt(id: string, lang: Lang): Promise<Attempt> {
  return body(client.GET('/api/v1/attempts/{id}', { params: { path: { id }, query: { lang } } }))
}

export function cancelAttempt(id: string, lang: Lang): Promise<Attempt> {
  return body(client.DELETE('/api/v1/attempts/{id}', { params: { path: { id }, query: { lang } } }))
}

export function answerAttempt(id: string, answers: Answers, lang: Lang): Promise<Attempt> {
  return body(
    client.POST('/api/v1/attempts/{id}/answers', {
      params: { path: { id }, query: { lang } },
      body: { answers },
    }),
  )
}

export function attemptEventsUrl(id: string, lang: Lang): string {
  return `/api/v1/attempts/${encodeURIComponent(id)}/events?lang=${lang}`
}

export function traceUrl(runId: string): string {
  return `/api/v1/runs/${encodeURIComponent(runId)}/trace`
}

export function currentTerminal(): Promise<TerminalOffer> {
  return body(client.GET('/api/v1/terminals/current'))
}

export function createTerminal(lab: string, files: Files, lang: Lang): Promise<Terminal> {
  return body(client.POST('/api/v1/terminals', { params: { query: { lang } }, body: { lab, files } }))
}

export function getTerminal(id: string): Promise<Terminal> {
  return body(client.GET('/api/v1/terminals/{id}', { params: { path: { id } } }))
}

export function closeTerminal(id: string): Promise<Terminal> {
  return body(client.DELETE('/api/v1/terminals/{id}', { params: { path: { id } } }))
}

/** The text files of a terminal's folder. */
export function terminalFiles(id: string): Promise<{ files: Files; left_out: number }> {
  return body(client.GET('/api/v1/terminals/{id}/files', { params: { path: { id } } }))
}

export function terminalSocketUrl(id: string): string {
  const origin = location.origin.replace(/^http/, 'ws')
  return `${origin}/api/v1/terminals/${encodeURIComponent(id)}/socket`
}
