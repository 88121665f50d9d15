import { describe, expect, test } from 'vitest'
import { loadDraft, mergeDraft, saveDraft } from './draft.ts'

function memory(initial: Record<string, string> = {}) {
  const kept = new Map(Object.entries(initial))
  return {
    kept,
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  }
}

const forbidden = {
  getItem(): string {
    throw new Error('SecurityError')
  },
  setItem() {
    throw new Error('QuotaExceededError')
  },
}

const draft = { files: { 'read.js': 'const a = 1\n' }, answers: { who: 'main', which: ['a', 'b'] } }

describe('drafts', () => {
  test('what is saved is loaded again, for its own lab only', () => {
    const store = memory()
    expect(saveDraft(store, 'one', draft)).toBe(true)
    expect(loadDraft(store, 'one')).toEqual(draft)
    expect(loadDraft(store, 'two')).toBeNull()
  })

  test('forbidden or full storage loses nothing but the saving', () => {
    expect(saveDraft(forbidden, 'one', draft)).toBe(false)
    expect(loadDraft(forbidden, 'one')).toBeNull()
  })

  test.each([
    '',
    'null',
    '{',
    '[]',
    '{"files":{"a":1},"answers":{}}',
    '{"files":{}}',
    '{"files":{},"answers":{"q":[1]}}',
  ])('what is not a draft (%j) is ignored', (text) => {
    const store = memory()
    saveDraft(store, 'one', draft)
    for (const key of store.kept.keys()) store.kept.set(key, text)
    expect(loadDraft(store, 'one')).toBeNull()
  })

  test('without a draft the starter is the draft', () => {
    expect(mergeDraft({ 'read.js': 'starter' }, null)).toEqual({
      files: { 'read.js': 'starter' },
      answers: {},
    })
  })

  test('the learner’s text wins; files follow the lab', () => {
    const merged = mergeDraft(
      { 'read.js': 'starter', 'new.js': 'new' },
      { files: { 'read.js': '', 'gone.js': 'x' }, answers: { q: '1' } },
    )
    expect(merged).toEqual({ files: { 'read.js': '', 'new.js': 'new' }, answers: { q: '1' } })
  })
})
