import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../api/types.ts'
import en from '../../i18n/en.ts'
import ja from '../../i18n/ja.ts'
import { endedWell, outcomeText } from './outcome.ts'
import { runOf } from './testing.ts'

/** The compiler refuses this table when the API knows an outcome that it lacks. */
const ALL: Record<Outcome, true> = {
  exited: true,
  signalled: true,
  wall_limit: true,
  memory_limit: true,
  process_limit: true,
  output_limit: true,
  disk_limit: true,
  trace_limit: true,
}
const outcomes = Object.keys(ALL) as Outcome[]

describe('how a run ended, in words', () => {
  test.each([
    ['en', en],
    ['ja', ja],
  ])('in %s every outcome has a sentence of its own', (_lang, messages) => {
    const texts = outcomes.map((outcome) => outcomeText(runOf({ outcome, exit_code: null }), messages))
    expect(new Set(texts).size).toBe(outcomes.length)
    expect(texts.every((text) => text.length > 10)).toBe(true)
  })

  test('what is known is said', () => {
    expect(outcomeText(runOf({ exit_code: 0 }), en)).toContain('exit code 0')
    expect(outcomeText(runOf({ exit_code: 7 }), ja)).toContain('終了コード 7')
    expect(outcomeText(runOf({ outcome: 'signalled', signal: 'SIGSEGV', exit_code: null }), en)).toContain(
      'SIGSEGV',
    )
    expect(outcomeText(runOf({ outcome: 'wall_limit', wall_ms: 10_040 }), en)).toContain('10.0 s')
  })

  test('only exit code 0 is a good end', () => {
    expect(endedWell(runOf({ exit_code: 0 }))).toBe(true)
    expect(endedWell(runOf({ exit_code: 1 }))).toBe(false)
    expect(endedWell(runOf({ outcome: 'trace_limit', exit_code: 0 }))).toBe(false)
  })
})
