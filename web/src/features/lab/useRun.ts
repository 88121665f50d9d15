import { computed, ref, shallowRef, type Ref } from 'vue'
import { cancelAttempt, createAttempt } from '../../api/client.ts'
import { Failure, networkFailure } from '../../api/failure.ts'
import type { Attempt, Files, Lab } from '../../api/types.ts'
import { useLang, useMessages } from '../../i18n/index.ts'
import type { Filled } from '../attempt/answers.ts'

/** Making an attempt and taking it back, with what may be wrong about it. */
export function useRun(about: {
  lab: Ref<Lab | null>
  attempt: Ref<Attempt | null>
  files: () => Files
  filled: () => Filled
  adopt: (attempt: Attempt) => void
}) {
  const t = useMessages()
  const lang = useLang()
  const sending = ref(false)
  const cancelling = ref(false)
  const failure = shallowRef<Failure | null>(null)
  const notNumbers = ref<string[]>([])

  const fileFaults = computed(() => failure.value?.faultsOf('files') ?? [])
  /** By question. */
  const answerFaults = computed(() => ({
    ...Object.fromEntries(
      (failure.value?.faultsOf('answers') ?? []).map(({ field, message }) => [
        field.slice('answers.'.length),
        message,
      ]),
    ),
    ...Object.fromEntries(notNumbers.value.map((id) => [id, t.value.questions.notANumber])),
  }))
  /** What is wrong, but with no file and no answer. */
  const otherFailure = computed(() =>
    fileFaults.value.length + Object.keys(answerFaults.value).length > 0 ? null : failure.value,
  )

  async function call(busy: Ref<boolean>, make: () => Promise<Attempt>): Promise<boolean> {
    if (busy.value) return false
    busy.value = true
    failure.value = null
    try {
      about.adopt(await make())
      return true
    } catch (error) {
      failure.value = error instanceof Failure ? error : networkFailure(error)
      return false
    } finally {
      busy.value = false
    }
  }

  /** Answers whether an attempt was made. */
  async function start(): Promise<boolean> {
    const slug = about.lab.value?.slug
    const { answers, notNumbers: wrong } = about.filled()
    notNumbers.value = wrong
    if (!slug || wrong.length > 0) return false
    return call(sending, () => createAttempt(slug, { ...about.files() }, answers, lang.value))
  }

  async function cancel(): Promise<void> {
    const id = about.attempt.value?.id
    if (id) await call(cancelling, () => cancelAttempt(id, lang.value))
  }

  return { start, cancel, sending, cancelling, fileFaults, answerFaults, otherFailure }
}
