import { computed, shallowRef, watch } from 'vue'
import type { Attempt, Files } from '../../api/types.ts'
import { announce } from '../../components/announcer.ts'
import { useLang, useMessages } from '../../i18n/index.ts'
import { isOver, phaseOf } from '../attempt/live.ts'
import { takeBack } from '../terminal/take.ts'
import { mergeDraft } from './draft.ts'
import { useDraft } from './useDraft.ts'
import { useLab } from './useLab.ts'
import { usePredictions } from './usePredictions.ts'
import { useRun } from './useRun.ts'
import { useShownAttempt, type Address } from './useShownAttempt.ts'
import { useSpokenState } from './useSpokenState.ts'

export interface Notice {
  text: string
  undo?: () => void
}

/**
 * Everything the lab page knows. The address names either a lab (work on the draft; its newest attempt is in the
 * report) or an attempt (look at it: its files, its predictions, its report; nothing can be changed).
 */
export function useWorkspace(address: Address) {
  const t = useMessages()
  const shown = useShownAttempt(address)
  const { attempt, viewing } = shown
  const { lab, failure: labFailure, reload: reloadLab } = useLab(shown.slug, useLang())
  const draft = useDraft(lab)
  const predictions = usePredictions({ lab, attempt, draft: draft.draft, setAnswers: draft.setAnswers })
  const running = useRun({
    lab,
    attempt,
    files: () => draft.draft.files,
    filled: predictions.filled,
    adopt: shown.adopt,
  })

  const phase = computed(() => attempt.value && phaseOf(attempt.value, lab.value?.runs.length ?? 0))
  const live = computed(() => (attempt.value && !isOver(attempt.value.state) ? phase.value : null))
  useSpokenState(attempt, phase)
  // The first grade opens the lab's notes.
  watch(attempt, (now, before) => {
    if (now?.state === 'graded' && before?.id === now.id && before.state !== 'graded') void reloadLab()
  })

  const notice = shallowRef<Notice | null>(null)
  function say(now: Notice): void {
    notice.value = now
    void announce(now.text)
  }

  /** Answers whether an attempt was made; where it may not be, says why. */
  async function run(): Promise<boolean> {
    if (viewing.value || live.value) {
      say({ text: viewing.value ? t.value.run.readOnly : t.value.run.wait })
      return false
    }
    notice.value = null
    draft.flush()
    const made = await running.start()
    if (made) void announce(t.value.state.queued)
    return made
  }

  /** Changes the draft in a way that one press takes back. */
  function replaceDraft(files: Files, text: string): void {
    const before = { ...draft.draft.files }
    draft.setFiles(files)
    const undo = () => {
      draft.setFiles(before)
      notice.value = null
    }
    say({ text, undo })
  }

  function reset(): void {
    if (lab.value) replaceDraft(lab.value.starter, t.value.editor.wasReset)
  }

  function useFilesOf(from: Attempt): void {
    if (!lab.value) return
    const { files } = mergeDraft(lab.value.starter, { files: from.files, answers: {} })
    replaceDraft(files, t.value.editor.used)
  }

  /** Lays the files of a terminal over the draft. */
  function takeFiles(from: Files): void {
    const { files, changed, others } = takeBack(draft.draft.files, from)
    const { took, tookNothing, others: stays } = t.value.terminal
    const rest = others.length > 0 ? ` ${stays(others.join(', '))}` : ''
    if (changed.length > 0) replaceDraft(files, took(changed.join(', ')) + rest)
    else say({ text: tookNothing + rest })
  }

  return {
    lab,
    labFailure,
    reloadLab,
    draft,
    predictions,
    running,
    shown,
    live,
    notice,
    run,
    reset,
    useFilesOf,
    takeFiles,
  }
}
