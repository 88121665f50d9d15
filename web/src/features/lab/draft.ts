/** The unsent files and predictions of one lab, kept in the browser. */
import type { Files } from '../../api/types.ts'

export interface Draft {
  files: Files
  answers: Record<string, string | string[]>
}

type Store = Pick<Storage, 'getItem' | 'setItem'>

// The number is the version of the shape; a draft of another shape is ignored, not guessed at.
const keyOf = (slug: string) => `todoku:draft:1:${slug}`

/** What is kept, or null: nothing there, unreadable, or storage forbidden. */
export function loadDraft(store: Store, slug: string): Draft | null {
  try {
    const value: unknown = JSON.parse(store.getItem(keyOf(slug)) ?? 'null')
    return isDraft(value) ? value : null
  } catch {
    return null
  }
}

/** False when the browser did not keep it (storage forbidden or full). */
export function saveDraft(store: Store, slug: string, draft: Draft): boolean {
  try {
    store.setItem(keyOf(slug), JSON.stringify(draft))
    return true
  } catch {
    return false
  }
}

/**
 * A draft laid over the starter: a file the lab has gained since is added, one it has lost is dropped. The
 * learner's text always wins.
 */
export function mergeDraft(starter: Files, draft: Draft | null): Draft {
  if (!draft) return { files: { ...starter }, answers: {} }
  const names = Object.keys(starter)
  const files = Object.fromEntries(names.map((name) => [name, draft.files[name] ?? starter[name] ?? '']))
  return { files, answers: draft.answers }
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== 'object' || value === null || !('files' in value) || !('answers' in value))
    return false
  const { files, answers } = value
  return isRecordOf(files, isText) && isRecordOf(answers, (v) => isText(v) || isTexts(v))
}

const isText = (value: unknown) => typeof value === 'string'
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText)

function isRecordOf(value: unknown, holds: (value: unknown) => boolean): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(holds)
}
