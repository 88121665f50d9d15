import { ref, shallowRef, watch, type Ref } from 'vue'
import { getLab } from '../../api/client.ts'
import { Failure, networkFailure } from '../../api/failure.ts'
import type { Lab, Lang } from '../../api/types.ts'

/** The lab named by `slug`, in the page's language. A change of language keeps the old text until the new is there. */
export function useLab(slug: Ref<string | null>, lang: Ref<Lang>) {
  const lab = shallowRef<Lab | null>(null)
  const failure = shallowRef<Failure | null>(null)
  const loading = ref(false)

  async function load(): Promise<void> {
    const [wanted, wantedLang] = [slug.value, lang.value]
    if (!wanted) return
    if (lab.value?.slug !== wanted) lab.value = null
    failure.value = null
    loading.value = true
    const isWanted = () => slug.value === wanted && lang.value === wantedLang
    try {
      const loaded = await getLab(wanted, wantedLang)
      if (isWanted()) lab.value = loaded
    } catch (error) {
      if (isWanted()) failure.value = error instanceof Failure ? error : networkFailure(error)
    }
    if (isWanted()) loading.value = false
  }

  watch([slug, lang], load, { immediate: true })

  return { lab, failure, loading, reload: load }
}
