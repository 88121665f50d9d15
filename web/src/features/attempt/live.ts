/**
 * What the page knows of one attempt while it is under way, as a pure function of the news that arrive. News can
 * come twice, late or out of order: from the event stream, from polling, and from the learner's own calls.
 */
import type { Attempt, AttemptState } from '../../api/types.ts'

export interface Feed {
  attempt: Attempt | null
  /** `live`: the event stream; `polling`: it broke, so we ask; `over`: nothing more will come. */
  link: 'connecting' | 'live' | 'polling' | 'over'
}

export type News = { from: 'stream' | 'poll' | 'call'; attempt: Attempt } | { from: 'stream'; lost: true }

/** What is shown: the API's states, with the end of `running` told apart. */
export type Phase = AttemptState | 'grading'

export const EMPTY_FEED: Feed = { attempt: null, link: 'connecting' }

export function isOver(state: AttemptState): boolean {
  return state === 'graded' || state === 'errored' || state === 'cancelled'
}

export function reduceFeed(feed: Feed, news: News): Feed {
  if ('lost' in news) return feed.link === 'over' ? feed : { ...feed, link: 'polling' }
  const attempt = isStale(feed.attempt, news.attempt) ? feed.attempt : news.attempt
  if (attempt && isOver(attempt.state)) return { attempt, link: 'over' }
  return { attempt, link: news.from === 'stream' ? 'live' : feed.link }
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
