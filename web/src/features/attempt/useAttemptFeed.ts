import { onScopeDispose, readonly, shallowRef, watch, type Ref } from 'vue'
import { attemptEventsUrl, getAttempt } from '../../api/client.ts'
import { Failure, networkFailure } from '../../api/failure.ts'
import type { Attempt, Lang, Written } from '../../api/types.ts'
import { EMPTY_FEED, isOver, reduceFeed, type Feed, type News } from './live.ts'

const FIRST_POLL_MS = 1_000
const SLOWEST_POLL_MS = 8_000

/**
 * Follows the attempt named by `id`: over the event stream, or by polling where the stream breaks, until it has
 * ended. Another id or language starts anew; what is known stays on the screen until better is known.
 */
export function useAttemptFeed(id: Ref<string | null>, lang: Ref<Lang>) {
  const feed = shallowRef<Feed>(EMPTY_FEED)
  const failure = shallowRef<Failure | null>(null)
  let stop = () => {}

  function take(news: News): void {
    failure.value = null
    feed.value = reduceFeed(feed.value, news)
  }

  function follow(): void {
    stop()
    const wanted = id.value
    failure.value = null
    const known = feed.value.attempt?.id === wanted ? feed.value.attempt : null
    feed.value = { ...EMPTY_FEED, attempt: known }
    if (wanted) stop = open(wanted)
  }

  function open(wanted: string): () => void {
    let closed = false
    let timer = 0
    const stream = new EventSource(attemptEventsUrl(wanted, lang.value))
    const close = () => {
      closed = true
      stream.close()
      clearTimeout(timer)
    }

    stream.addEventListener('attempt', (event) => {
      const attempt = JSON.parse(event.data) as Attempt
      if (isOver(attempt.state)) close()
      take({ from: 'stream', attempt })
    })
    stream.addEventListener('open', () => take({ from: 'stream', opened: true }))
    stream.addEventListener('output', (event) => {
      take({ from: 'stream', written: JSON.parse(event.data) as Written[] })
    })
    // EventSource hides why it failed, so the poll finds out (404, no network) and carries on.
    stream.addEventListener('error', () => {
      stream.close()
      take({ from: 'stream', lost: true })
      void poll(FIRST_POLL_MS)
    })

    async function poll(pause_ms: number): Promise<void> {
      try {
        const attempt = await getAttempt(wanted, lang.value)
        if (closed) return
        take({ from: 'poll', attempt })
        if (isOver(attempt.state)) return
      } catch (error) {
        if (closed) return
        failure.value = error instanceof Failure ? error : networkFailure(error)
        if (failure.value.isNotFound) return
      }
      timer = window.setTimeout(() => void poll(Math.min(pause_ms * 1.5, SLOWEST_POLL_MS)), pause_ms)
    }
    return close
  }

  /** The answer to a call of ours (made, cancelled, answered) is news as well. */
  function adopt(attempt: Attempt): void {
    if (attempt.id !== id.value) {
      feed.value = { ...EMPTY_FEED, attempt }
      id.value = attempt.id
      return
    }
    take({ from: 'call', attempt })
    if (isOver(attempt.state)) stop()
  }

  watch([id, lang], follow, { immediate: true })
  onScopeDispose(() => stop())

  return { feed: readonly(feed) as Readonly<Ref<Feed>>, failure, adopt, retry: follow }
}
