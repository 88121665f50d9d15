import type { Run } from '../../api/types.ts'

/** A run with its number among those of the same label, as the evidence numbers them (`run`, `try`). */
export interface NumberedRun {
  run: Run
  tryNo: number
}

export function numbered(runs: readonly Run[]): NumberedRun[] {
  const seen = new Map<string, number>()
  return runs.map((run) => {
    const tryNo = (seen.get(run.label) ?? 0) + 1
    seen.set(run.label, tryNo)
    return { run, tryNo }
  })
}
