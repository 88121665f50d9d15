/** The names under which the rest of the code speaks of the API's types. */
import type { components } from './schema.d.ts'

type Schemas = components['schemas']

export type Lang = 'ja' | 'en'
/** A query that the lab's author offers. */
export interface LabQuery {
  title: string
  sql: string
}
export type Lab = Schemas['LabView'] & { queries?: LabQuery[] }
export type LabSummary = Schemas['LabSummary']
export type Question = Schemas['QuestionView']
/** A choice, several choices, a number or a text, as its question asks. The schema leaves it open. */
export type Answer = string | string[] | number
export type Answers = Record<string, Answer>
export type Files = Record<string, string>
export type Attempt = Schemas['AttemptView']
export type AttemptState = Attempt['state']
export type AttemptSummary = Schemas['AttemptSummaryView']
export type AttemptList = Schemas['AttemptList']
export type PlannedRun = Schemas['RunView']
export type Terminal = Schemas['TerminalView']
export type TerminalOffer = Schemas['TerminalOffer']
/** Why a terminal ended. */
export type TerminalEnd = 'exited' | 'closed' | 'idle' | 'time_up' | 'no_place' | 'lost' | 'failed'
export type Run = Schemas['AttemptRun']
/** What a run has written since the last of these: the event `output` of an attempt's stream holds a list. */
export interface Written {
  run: string
  stream: 'stdout' | 'stderr'
  text: string
}
export type Outcome = Run['outcome']
export type Grade = Schemas['GradeView']
export type CheckGrade = Schemas['CheckGradeView']
export type Evidence = Schemas['EvidenceView']
