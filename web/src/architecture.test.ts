import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const SRC = dirname(fileURLToPath(import.meta.url))

/** Which rooms a room may import from, besides itself. */
const ARROWS: Record<string, readonly string[]> = {
  pages: ['features/lab', 'features/attempt', 'components', 'i18n'],
  'features/lab': [
    'features/attempt',
    'features/trace',
    'features/explorer',
    'features/terminal',
    'components',
    'api',
    'i18n',
  ],
  'features/trace': ['features/attempt', 'components', 'api', 'i18n'],
  'features/explorer': ['components', 'api', 'i18n'],
  'features/attempt': ['components', 'api', 'i18n'],
  'features/terminal': ['components', 'api', 'i18n'],
  components: ['i18n'],
  api: [],
  i18n: [],
}

/** Longest file in lines; a file may shrink this, none may grow it. */
const LONGEST_FILE = 320

function sources(): string[] {
  return readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && /\.(?:vue|ts)$/.test(entry.name) && !/\.(?:test|d)\.ts$/.test(entry.name),
    )
    .map((entry) => join(entry.parentPath, entry.name))
}

function roomOf(path: string): string | null {
  const parts = relative(SRC, path).split('/')
  const room = parts[0] === 'features' ? parts.slice(0, 2).join('/') : parts[0]
  return parts.length > 1 && room ? room : null
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  const specifiers = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] ?? '',
  )
  return specifiers
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => resolve(dirname(path), specifier))
}

describe('the rooms of the page', () => {
  test('every folder is a room with known arrows', () => {
    const rooms = new Set(
      sources()
        .map(roomOf)
        .filter((room) => room !== null),
    )
    expect([...rooms].toSorted()).toEqual(Object.keys(ARROWS).toSorted())
  })

  test('nobody imports against the arrows', () => {
    const wrong = sources().flatMap((path) => {
      const from = roomOf(path)
      if (!from) return []
      const reached = importsOf(path).map((target) => ({ target, to: roomOf(target) }))
      return reached
        .filter(({ to }) => to !== from && !(to && ARROWS[from]?.includes(to)))
        .map(({ target }) => `${relative(SRC, path)} -> ${relative(SRC, target)}`)
    })
    expect(wrong).toEqual([])
  })

  test('imports are seen at all', () => {
    expect(importsOf(join(SRC, 'pages/LabPage.vue')).map(roomOf)).toEqual(['features/lab'])
  })

  test('no file grows past the longest', () => {
    const long = sources().filter((path) => readFileSync(path, 'utf8').split('\n').length > LONGEST_FILE)
    expect(long).toEqual([])
  })
})
