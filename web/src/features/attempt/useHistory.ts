import { readonly, ref, shallowRef, watch, type Ref } from 'vue'
import { listAttempts } from '../../api/client.ts'
import { Failure, networkFailure } from '../../api/failure.ts'
import type { Attempt, AttemptSummary, Lang } from '../../api/types.ts'

/** The visitor's attempts, newest first, at one lab or (`lab` undefined) at all of them; page by page. */
export function useHistory(query: { lab?: Ref<string | null>; lang: Ref<Lang>; pageSize: number }) {
  const items = shallowRef<AttemptSummary[]>([])
  const cursor = ref<string | null>(null)
  const loading = ref(true)
  const failure = shallowRef<Failure | null>(null)
  // Counts loads, so that a late answer to an earlier one is dropped.
  let generation = 0

  async function load(from: string | null): Promise<void> {
    const lab = query.lab?.value
    if (query.lab && !lab) return
    const mine = ++generation
    loading.value = true
    failure.value = null
    try {
      const page = await listAttempts({
        lang: query.lang.value,
        limit: query.pageSize,
        ...(lab ? { lab } : {}),
        ...(from ? { cursor: from } : {}),
      })
      if (mine !== generation) return
      items.value = from ? [...items.value, ...page.items] : page.items
      cursor.value = page.next_cursor ?? null
    } catch (error) {
      if (mine !== generation) return
      failure.value = error instanceof Failure ? error : networkFailure(error)
    }
    loading.value = false
  }

  /** Shows news of an attempt in the list without asking the server for it again. */
  function take(attempt: Attempt): void {
    const summary: AttemptSummary = {
      id: attempt.id,
      lab: attempt.lab,
      lab_title: attempt.lab_title,
      state: attempt.state,
      created_at: attempt.created_at,
      points: attempt.grade?.points ?? null,
      max_points: attempt.grade?.max_points ?? null,
      incomplete: attempt.grade?.incomplete ?? null,
    }
    const at = items.value.findIndex(({ id }) => id === attempt.id)
    const newest = items.value[0]
    if (at >= 0) items.value = items.value.with(at, summary)
    else if (!newest || newest.created_at <= attempt.created_at) items.value = [summary, ...items.value]
  }

  watch([query.lang, () => query.lab?.value], () => load(null), { immediate: true })

  return {
    items: readonly(items) as Readonly<Ref<AttemptSummary[]>>,
    cursor: readonly(cursor),
    loading: readonly(loading),
    failure: readonly(failure) as Readonly<Ref<Failure | null>>,
    more: () => load(cursor.value),
    reload: () => load(null),
    take,
  }
}
