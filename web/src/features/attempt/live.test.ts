import { describe, expect, test } from 'vitest'
import type { Attempt } from '../../api/types.ts'
import { EMPTY_FEED, phaseOf, reduceFeed, WRITTEN_MAX, type Feed, type News } from './live.ts'
import { attemptOf, gradeOf, runOf } from './testing.ts'

const queued = attemptOf({ state: 'queued', queue_position: 1 })
const running = attemptOf({ state: 'running' })
const graded = attemptOf({ state: 'graded', grade: gradeOf({ version: 1 }) })
const regraded = attemptOf({ state: 'graded', grade: gradeOf({ version: 2 }) })

const stream = (attempt: Attempt): News => ({ from: 'stream', attempt })
const poll = (attempt: Attempt): News => ({ from: 'poll', attempt })
const lost: News = { from: 'stream', lost: true }

function after(...news: News[]): Feed {
  return news.reduce(reduceFeed, EMPTY_FEED)
}

describe('output while it runs', () => {
  const wrote = (text: string, to: 'stdout' | 'stderr' = 'stdout', run = 'default'): News => ({
    from: 'stream',
    written: [{ run, stream: to, text }],
  })

  test('neighbours of one stream are one part, and order is kept', () => {
    const news = [
      stream(running),
      wrote('a'),
      wrote('b'),
      wrote('c', 'stderr'),
      wrote('d', 'stdout', 'again'),
    ]
    expect(after(...news).written).toEqual([
      { run: 'default', stream: 'stdout', text: 'ab' },
      { run: 'default', stream: 'stderr', text: 'c' },
      { run: 'again', stream: 'stdout', text: 'd' },
    ])
    expect(after(...news, stream(running)).written).toHaveLength(3)
  })

  test.each<[string, News]>([
    ['another connection', { from: 'stream', opened: true }],
    ['the queue again', stream(queued)],
    ['the end', stream(graded)],
  ])('%s begins without any', (_name, news) => {
    expect(after(stream(running), wrote('a'), news).written).toEqual([])
  })

  test('of a flood the end is kept', () => {
    const { written } = after(
      stream(running),
      wrote('first'),
      wrote('x'.repeat(WRITTEN_MAX), 'stderr'),
      wrote('last'),
    )
    expect(written.map(({ text }) => text.length)).toEqual([WRITTEN_MAX - 4, 4])
    expect(written.at(-1)?.text).toBe('last')
  })
})

describe('news of an attempt', () => {
  test.each<[string, News[], Omit<Feed, 'written'>]>([
    ['the stream brings the state', [stream(queued)], { attempt: queued, link: 'live' }],
    ['each change replaces the last', [stream(queued), stream(running)], { attempt: running, link: 'live' }],
    ['an end ends it', [stream(running), stream(graded)], { attempt: graded, link: 'over' }],
    ['a broken stream turns to polling', [stream(queued), lost], { attempt: queued, link: 'polling' }],
    ['polling goes on until the end', [lost, poll(running)], { attempt: running, link: 'polling' }],
    ['polling finds the end', [lost, poll(running), poll(graded)], { attempt: graded, link: 'over' }],
    [
      'a stream that closes after the end is no loss',
      [stream(graded), lost],
      { attempt: graded, link: 'over' },
    ],
    [
      'a late answer does not revive what has ended',
      [stream(graded), poll(running)],
      { attempt: graded, link: 'over' },
    ],
    [
      'a newer grade replaces an older',
      [stream(graded), poll(regraded)],
      { attempt: regraded, link: 'over' },
    ],
    [
      'an older grade does not come back',
      [poll(regraded), stream(graded)],
      { attempt: regraded, link: 'over' },
    ],
    [
      'a lapsed worker puts it back into the queue',
      [stream(running), stream(queued)],
      { attempt: queued, link: 'live' },
    ],
  ])('%s', (_name, news, expected) => {
    expect(after(...news)).toEqual({ ...expected, written: [] })
  })

  test('another attempt takes the place of one that has ended', () => {
    const other = attemptOf({ id: 'another', state: 'queued' })
    expect(after(stream(graded), { from: 'call', attempt: other }).attempt).toBe(other)
  })
})

describe('the phase shown', () => {
  test('grading is told apart once all runs are over', () => {
    const [one, two] = [runOf({ label: 'default' }), runOf({ label: 'pool8' })]
    expect(phaseOf(running, 2)).toBe('running')
    expect(phaseOf({ ...running, runs: [one] }, 2)).toBe('running')
    expect(phaseOf({ ...running, runs: [one, two] }, 2)).toBe('grading')
    expect(phaseOf({ ...graded, runs: [one, two] }, 2)).toBe('graded')
  })
})
