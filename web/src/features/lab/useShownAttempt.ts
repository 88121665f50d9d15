import { computed, ref, watch, type Ref } from 'vue'
import { useLang } from '../../i18n/index.ts'
import { useAttemptFeed } from '../attempt/useAttemptFeed.ts'
import { useHistory } from '../attempt/useHistory.ts'

const HISTORY_PAGE = 10

/** What the address names: a lab (`slug`), or one attempt at a lab. */
export interface Address {
  slug: Ref<string | null>
  attemptId: Ref<string | null>
}

/** The attempt in the report: the one the address names, else the newest at the lab; and those before it. */
export function useShownAttempt(address: Address) {
  const lang = useLang()
  const shownId = ref<string | null>(address.attemptId.value)
  const { feed, failure, adopt, retry } = useAttemptFeed(shownId, lang)
  const slug = computed(() => address.slug.value ?? feed.value.attempt?.lab ?? null)
  const past = useHistory({ lab: slug, lang, pageSize: HISTORY_PAGE })

  const attempt = computed(() => {
    const known = feed.value.attempt
    return known && known.id === shownId.value && known.lab === slug.value ? known : null
  })
  const viewing = computed(() => address.attemptId.value !== null)
  /** Whether it is known if there is an attempt to show. */
  const settled = computed(
    () => attempt.value !== null || (!viewing.value && !past.loading.value && !shownId.value),
  )

  function newestOfLab(): string | null {
    const newest = past.items.value[0]
    return newest && newest.lab === slug.value ? newest.id : null
  }
  watch([address.attemptId, address.slug], ([id]) => {
    shownId.value = id ?? newestOfLab()
  })
  watch(past.items, () => {
    if (!viewing.value && !shownId.value) shownId.value = newestOfLab()
  })
  watch(attempt, (now) => {
    if (now) past.take(now)
  })

  return {
    slug,
    attempt,
    shownId,
    viewing,
    settled,
    past,
    link: computed(() => feed.value.link),
    written: computed(() => feed.value.written),
    failure,
    adopt,
    retry,
  }
}
