import { computed, ref, watch, type Ref } from 'vue'
import type { Attempt, Lab } from '../../api/types.ts'
import { isFilled, toAnswers, toFormValues, type Filled, type FormValues } from '../attempt/answers.ts'

/**
 * The questions asked before a run. While an attempt is shown they are locked and hold that attempt's answers;
 * what is shown is also what the next attempt is made with, unless the learner unlocks them to predict anew.
 */
export function usePredictions(about: {
  lab: Ref<Lab | null>
  attempt: Ref<Attempt | null>
  draft: { answers: FormValues }
  setAnswers: (answers: FormValues) => void
}) {
  const { lab, attempt, draft, setAnswers } = about
  const questions = computed(() => lab.value?.questions.filter(({ stage }) => stage === 'before') ?? [])
  const unlocked = ref(false)
  const locked = computed(() => attempt.value !== null && !unlocked.value)
  watch(
    () => attempt.value?.id,
    () => (unlocked.value = false),
  )

  const values = computed({
    get: () => (locked.value && attempt.value ? toFormValues(attempt.value.answers.before) : draft.answers),
    set: (now) => {
      if (!locked.value) setAnswers(now)
    },
  })
  /** How many are filled in, of all; null when there is nothing to fill in. */
  const progress = computed(() => {
    const all = questions.value.length
    if (locked.value || all === 0) return null
    return { all, done: questions.value.filter(({ id }) => isFilled(draft.answers[id])).length }
  })

  function unlock(): void {
    setAnswers(values.value)
    unlocked.value = true
  }

  return {
    questions,
    locked,
    values,
    progress,
    unlock,
    filled: (): Filled => toAnswers(questions.value, values.value),
  }
}
