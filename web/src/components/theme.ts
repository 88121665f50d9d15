import { readonly, ref } from 'vue'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

// `boot.js` reads the same key before the first paint.
const STORAGE_KEY = 'todoku:theme'
const current = ref<Theme>(remembered())

function remembered(): Theme {
  const chosen = document.documentElement.dataset['theme']
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

export function useTheme() {
  return readonly(current)
}

export function chooseTheme(theme: Theme): void {
  current.value = theme
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  try {
    localStorage.setItem(STORAGE_KEY, theme)
  } catch {
    // Storage is forbidden: the choice lasts for this visit.
  }
}
