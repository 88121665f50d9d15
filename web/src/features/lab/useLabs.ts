import { shallowRef, watch, type Ref } from 'vue'
import { listLabs } from '../../api/client.ts'
import { Failure, networkFailure } from '../../api/failure.ts'
import type { LabSummary, Lang } from '../../api/types.ts'

export function useLabs(lang: Ref<Lang>) {
  const labs = shallowRef<LabSummary[] | null>(null)
  const failure = shallowRef<Failure | null>(null)

  async function load(): Promise<void> {
    const wanted = lang.value
    failure.value = null
    try {
      const loaded = await listLabs(wanted)
      if (wanted === lang.value) labs.value = loaded
    } catch (error) {
      if (wanted === lang.value) failure.value = error instanceof Failure ? error : networkFailure(error)
    }
  }

  watch(lang, load, { immediate: true })
  return { labs, failure, reload: load }
}
