import type { Run } from '../../api/types.ts'
import type { Messages } from '../../i18n/index.ts'

/** How a run ended, in the learner's terms. */
export function outcomeText(
  run: Pick<Run, 'outcome' | 'exit_code' | 'signal' | 'wall_ms'>,
  t: Messages,
): string {
  return t.runs.outcome[run.outcome]({
    exitCode: run.exit_code ?? null,
    signal: run.signal ?? null,
    wallMs: run.wall_ms,
  })
}

/** Whether the script ran to its end by itself and said that all was well. */
export function endedWell(run: Pick<Run, 'outcome' | 'exit_code'>): boolean {
  return run.outcome === 'exited' && run.exit_code === 0
}
