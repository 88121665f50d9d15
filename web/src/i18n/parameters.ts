/** What a sentence about the end of a run may mention. */
export interface OutcomeDetails {
  exitCode: number | null
  signal: string | null
  wallMs: number
}
