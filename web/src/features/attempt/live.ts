/**
 * What the page knows of one attempt while it is under way, as a pure function of the news that arrive. News can
 * come twice, late or out of order: from the event stream, from polling, and from the learner's own calls.
 */
import type { Attempt, AttemptState, Written } from '../../api/types.ts'

export interface Feed {
  attempt: Attempt | null
  /** `live`: the event stream; `polling`: it broke, so we ask; `over`: nothing more will come. */
  link: 'connecting' | 'live' | 'polling' | 'over'
  /** What the runs have written so far, in order; the stream alone brings it. */
  written: readonly Written[]
}

/** Characters of live output that are kept: the end of it. The report has all that was stored. */
export const WRITTEN_MAX = 100_000

export type News =
  | { from: 'stream' | 'poll' | 'call'; attempt: Attempt }
  | { from: 'stream'; lost: true }
  | { from: 'stream'; opened: true }
  | { from: 'stream'; written: readonly Written[] }

/** What is shown: the API's states, with the end of `running` told apart. */
export type Phase = AttemptState | 'grading'

export const EMPTY_FEED: Feed = { attempt: null, link: 'connecting', written: [] }

export function isOver(state: AttemptState): boolean {
  return state === 'graded' || state === 'errored' || state === 'cancelled'
}

export function reduceFeed(feed: Feed, news: News): Feed {
  if ('lost' in news) return feed.link === 'over' ? feed : { ...feed, link: 'polling' }
  // Each connection tells it from the beginning.
  if ('opened' in news) return { ...feed, written: [] }
  if ('written' in news) return { ...feed, written: joined([...feed.written, ...news.written]) }
  const attempt = isStale(feed.attempt, news.attempt) ? feed.attempt : news.attempt
  if (attempt && isOver(attempt.state)) return { attempt, link: 'over', written: [] }
  // An attempt that was given back to the queue begins anew.
  const written = attempt?.state === 'running' ? feed.written : []
  return { attempt, link: news.from === 'stream' ? 'live' : feed.link, written }
}

/** Neighbours of one stream put together, and no more than the last {@link WRITTEN_MAX} characters. */
function joined(all: readonly Written[]): Written[] {
  const parts: Written[] = []
  for (const part of all) {
    const last = parts.at(-1)
    if (last && last.run === part.run && last.stream === part.stream) last.text += part.text
    else parts.push({ ...part })
  }
  let over = parts.reduce((sum, { text }) => sum + text.length, 0) - WRITTEN_MAX
  while (over > 0 && parts[0]) {
    const { text } = parts[0]
    if (text.length <= over) parts.shift()
    else parts[0].text = text.slice(over)
    over -= text.length
  }
  return parts
}

/** An ended attempt never starts again, and grade versions only grow. (`running` may go back to `queued`.) */
function isStale(known: Attempt | null, news: Attempt): boolean {
  if (!known || known.id !== news.id || !isOver(known.state)) return false
  return !isOver(news.state) || (known.grade?.version ?? 0) > (news.grade?.version ?? 0)
}

/** `runs` is how many runs the lab has: when all are over and there is no grade yet, it is being graded. */
export function phaseOf(attempt: Attempt, runs: number): Phase {
  return attempt.state === 'running' && runs > 0 && attempt.runs.length >= runs ? 'grading' : attempt.state
}
