/** Builders for tests: whole values of the API's types, of which a test names only what it is about. */
import type { Attempt, Grade, Run } from '../../api/types.ts'

export function runOf(part: Partial<Run>): Run {
  return {
    id: 'run',
    label: 'default',
    command: ['node', 'read.js'],
    outcome: 'exited',
    exit_code: 0,
    wall_ms: 120,
    trace_lines: 10,
    trace_bytes: 1000,
    complete: true,
    stdout: { text: '', dropped_bytes: 0, tail: '' },
    stderr: { text: '', dropped_bytes: 0, tail: '' },
    ...part,
  }
}

export function gradeOf(part: Partial<Grade>): Grade {
  return {
    points: 1,
    max_points: 2,
    incomplete: false,
    version: 1,
    created_at: '2026-11-30T00:00:00Z',
    checks: [],
    ...part,
  }
}

export function attemptOf(part: Partial<Attempt>): Attempt {
  return {
    id: 'attempt',
    lab: 'read-sync-async',
    lab_title: 'Reading',
    lab_digest: 'digest',
    state: 'queued',
    created_at: '2026-11-30T00:00:00Z',
    files: { 'read.js': '' },
    answers: { before: {}, after: null },
    runs: [],
    ...part,
  }
}
