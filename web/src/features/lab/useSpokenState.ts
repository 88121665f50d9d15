import { computed, watch, type Ref } from 'vue'
import type { Attempt } from '../../api/types.ts'
import { announce } from '../../components/announcer.ts'
import { useLang, useMessages } from '../../i18n/index.ts'
import type { Phase } from '../attempt/live.ts'

/** Says each change of the attempt's state to screen readers; not what was known when it came on the page. */
export function useSpokenState(attempt: Ref<Attempt | null>, phase: Ref<Phase | null>): void {
  const t = useMessages()
  const lang = useLang()

  const sentence = computed(() => {
    if (!attempt.value || !phase.value) return ''
    const { state } = t.value
    const { grade, queue_position: ahead } = attempt.value
    if (grade) return state.announceGraded(grade.points, grade.max_points)
    if (phase.value !== 'queued' || ahead == null) return state[phase.value]
    return `${state.queued}: ${ahead === 0 ? state.queuedNext : state.queuedBehind(ahead)}`
  })

  watch([() => attempt.value?.id, lang, sentence], ([id, inLang, now], [idBefore, inLangBefore]) => {
    if (id && id === idBefore && inLang === inLangBefore) void announce(now)
  })
}
