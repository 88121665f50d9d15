import { onScopeDispose, ref, shallowRef } from 'vue'
import { queryAttempt, type Answer } from '../../api/evidence.ts'
import { Failure, networkFailure } from '../../api/failure.ts'

/** One query at a time, and what came of the last one. */
export function useQuery(attemptId: () => string) {
  const running = ref(false)
  const answer = shallowRef<Answer | null>(null)
  const failure = shallowRef<Failure | null>(null)
  /** The text that was answered or refused: a mark belongs to it alone. */
  const asked = ref('')
  let control: AbortController | null = null

  /** Answers how it ended. */
  async function run(sql: string): Promise<'answered' | 'failed' | 'cancelled'> {
    control?.abort()
    const mine = new AbortController()
    control = mine
    running.value = true
    asked.value = sql
    failure.value = null
    try {
      const got = await queryAttempt(attemptId(), { sql }, mine.signal)
      if (mine.signal.aborted) return 'cancelled'
      answer.value = got
      return 'answered'
    } catch (error) {
      if (mine.signal.aborted) return 'cancelled'
      answer.value = null
      failure.value = error instanceof Failure ? error : networkFailure(error)
      return 'failed'
    } finally {
      if (control === mine) running.value = false
    }
  }

  function cancel(): void {
    control?.abort()
    running.value = false
  }

  onScopeDispose(cancel)

  return { running, answer, failure, asked, run, cancel }
}
