import { describe, expect, test } from 'vitest'
import type { Run } from '../../api/types.ts'
import en from '../../i18n/en.ts'
import ja from '../../i18n/ja.ts'
import { limitTexts } from './limit.ts'
import { runOf } from './testing.ts'

const call = { name: 'read', line: 213, at_ms: 13, in_flight: false, poll: false }

function told(part: Partial<Run>): string {
  return limitTexts(runOf({ wall_ms: 10_000, ...part }), en, 'en').join(' ')
}

describe('what is told of a limit that struck', () => {
  test('nothing where none did', () => {
    expect(told({ outcome: 'exited', limit: null })).toBe('')
  })

  test('out of time, the main thread having left its loop', () => {
    const limit = { allowed: 10_000, left_loop_ms: 12, last_call: call }
    expect(told({ outcome: 'wall_limit', limit })).toBe(
      'The main thread never returned to its event loop after 12 ms. Its last system call, read at 13 ms (line 213 of the trace), had returned: from then on it only computed. Look for a loop that never ends.',
    )
    const late = { ...limit, last_call: { ...call, at_ms: 9_990 } }
    expect(told({ outcome: 'wall_limit', limit: late })).toContain('went on making system calls')
    const inside = { ...limit, last_call: { ...call, in_flight: true } }
    expect(told({ outcome: 'wall_limit', limit: inside })).toContain('It was inside read from 13 ms on')
  })

  test('out of time, in the loop', () => {
    const last_call = { ...call, name: 'epoll_pwait', in_flight: true, poll: true }
    const text = told({ outcome: 'wall_limit', limit: { left_loop_ms: 12, last_call } })
    expect(text).toMatch(/^The main thread was waiting in its event loop: epoll_pwait from 13 ms on/)
    expect(text).not.toContain('never returned')
  })

  test('processes, memory, disks, output and trace with their figures', () => {
    expect(told({ outcome: 'process_limit', limit: { allowed: 128, alive: 120 } })).toBe(
      '120 processes and threads were alive when the limit of 128 stopped the next one.',
    )
    expect(told({ outcome: 'process_limit', limit: { allowed: 1, alive: 1 } })).toContain(
      '1 process or thread was',
    )
    expect(
      told({ outcome: 'memory_limit', max_memory_bytes: 268_435_456, limit: { allowed: 268_435_456 } }),
    ).toContain('268.4 MB')
    expect(
      told({ outcome: 'disk_limit', limit: { allowed: 1_000_000, full: { place: '/tmp', entries: false } } }),
    ).toBe('/tmp was full: it holds 1 MB.')
    expect(told({ outcome: 'disk_limit', limit: { full: { place: '/lab', entries: true } } })).toContain(
      'no more files',
    )
    const stderr = { text: 'a', dropped_bytes: 5, tail: 'b' }
    expect(told({ outcome: 'output_limit', stderr, limit: { allowed: 256_000 } })).toBe(
      'stderr: of more than 256 kB, the beginning and the end were kept.',
    )
    expect(
      told({ outcome: 'trace_limit', limit: { commonest: { name: 'statx', calls: 812_345 } } }),
    ).toContain('statx: 812,345 of them')
  })

  test('in Japanese too, and without figures that are not known', () => {
    const limit = { left_loop_ms: 12, last_call: call }
    expect(limitTexts(runOf({ outcome: 'wall_limit', limit }), ja, 'ja').join('')).toContain(
      '12 ミリ秒を最後に',
    )
    for (const outcome of [
      'wall_limit',
      'memory_limit',
      'process_limit',
      'disk_limit',
      'trace_limit',
    ] as const) {
      expect(limitTexts(runOf({ outcome, limit: {} }), ja, 'ja')).toEqual([])
    }
  })

  test('what was left out of the output is counted, one apart from many', () => {
    expect(en.runs.leftOut(1, '1')).toBe('… 1 byte left out here …')
    expect(en.runs.leftOut(1_234_567, '1,234,567')).toBe('… 1,234,567 bytes left out here …')
    expect(ja.runs.leftOut(1_234_567, '1,234,567')).toBe('…ここで 1,234,567 バイトを省略しました…')
  })
})
