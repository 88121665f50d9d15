import { describe, expect, test } from 'vitest'
import dataEn from './data-en.ts'
import dataJa from './data-ja.ts'
import english from './en.ts'
import japanese from './ja.ts'

const en = { ...english, data: dataEn }
const ja = { ...japanese, data: dataJa }

type Leaf = readonly [path: string, value: unknown]

function leaves(value: unknown, path = ''): Leaf[] {
  if (typeof value !== 'object' || value === null) return [[path, value]]
  return Object.entries(value).flatMap(([key, child]) => leaves(child, path ? `${path}.${key}` : key))
}

/** Every sentence, those with parameters filled in; what is written differs, so numbers will do for all. */
function sentences(messages: object): [string, string][] {
  return leaves(messages).map(([path, value]) => {
    if (typeof value !== 'function') return [path, String(value)]
    const details = { exitCode: 1, signal: 'SIGKILL', wallMs: 1500 }
    return [path, String(path.startsWith('runs.outcome') ? value(details) : value(2, 3, 4))]
  })
}

describe('the texts', () => {
  test('both languages have the same keys, of the same kind', () => {
    const shape = (messages: object) => leaves(messages).map(([path, value]) => `${path}: ${typeof value}`)
    expect(shape(ja)).toEqual(shape(en))
  })

  test('none is empty', () => {
    const empty = [...sentences(ja), ...sentences(en)].filter(([, text]) => text.trim() === '')
    expect(empty).toEqual([])
  })

  test('a text that differs between the languages is Japanese in Japanese, and never in English', () => {
    const inJapanese = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u
    const inEnglish = new Map(sentences(en))
    const foreign = sentences(ja).filter(
      ([path, text]) => text !== inEnglish.get(path) && !inJapanese.test(text),
    )
    expect(foreign.filter(([, text]) => /[a-z]{3}/i.test(text))).toEqual([])
    expect([...inEnglish].filter(([, text]) => inJapanese.test(text))).toEqual([])
  })

  test('the words that the project does not use are not used', () => {
    const banned = /\b(?:jobs?|tasks?|students?|problems?|results?|containers?)\b/i
    expect(sentences(en).filter(([, text]) => banned.test(text))).toEqual([])
  })

  test('English counts one apart from many', () => {
    expect(en.state.queuedBehind(1)).toBe('1 attempt ahead of yours')
    expect(en.state.queuedBehind(2)).toBe('2 attempts ahead of yours')
  })
})
