/**
 * Two languages, plain typed objects: `ja.ts` must have exactly the shape of `en.ts`, so the compiler finds a
 * missing text, a wrong parameter and a mistyped key. Only the language in use is loaded.
 */
import { readonly, ref, shallowRef, type Ref, type ShallowRef } from 'vue'
import type { DataMessages } from './data-en.ts'
import type { Messages } from './en.ts'

export type { DataMessages, Messages }
export const LANGS = ['ja', 'en'] as const
export type Lang = (typeof LANGS)[number]

const STORAGE_KEY = 'todoku:lang'
const load: Record<Lang, () => Promise<{ default: Messages }>> = {
  ja: () => import('./ja.ts'),
  en: () => import('./en.ts'),
}

const loadData: Record<Lang, () => Promise<{ default: DataMessages }>> = {
  ja: () => import('./data-ja.ts'),
  en: () => import('./data-en.ts'),
}

const current = ref<Lang>('en')
// Filled by `startLanguage` before the app is mounted, hence never seen empty.
const messages = shallowRef({} as Messages)
// Filled by `loadDataMessages` before a component that uses it is loaded.
const dataMessages = shallowRef<DataMessages | null>(null)

/** Reads the language that `boot.js` chose (remembered, else the browser's). */
export async function startLanguage(): Promise<void> {
  await use(document.documentElement.lang === 'ja' ? 'ja' : 'en')
}

export async function chooseLanguage(lang: Lang): Promise<void> {
  await use(lang)
  try {
    localStorage.setItem(STORAGE_KEY, lang)
  } catch {
    // Storage is forbidden: the choice lasts for this visit.
  }
}

/** Loads the texts about an attempt's data; from then on they follow the language. */
export async function loadDataMessages(): Promise<void> {
  dataMessages.value = (await loadData[current.value]()).default
}

async function use(lang: Lang): Promise<void> {
  const [all, data] = await Promise.all([load[lang](), dataMessages.value ? loadData[lang]() : null])
  messages.value = all.default
  if (data) dataMessages.value = data.default
  current.value = lang
  document.documentElement.lang = lang
}

export function useMessages(): Readonly<ShallowRef<Messages>> {
  return messages
}

/** For components that are loaded together with these texts. */
export function useDataMessages(): Readonly<ShallowRef<DataMessages>> {
  return dataMessages as ShallowRef<DataMessages>
}

export function useLang(): Readonly<Ref<Lang>> {
  return readonly(current)
}
