import { watchEffect, type Ref } from 'vue'

/** Names the page in the browser's tab; null while the name is not known yet. */
export function usePageTitle(name: Readonly<Ref<string | null>>): void {
  watchEffect(() => {
    document.title = name.value ? `${name.value} · Todoku` : 'Todoku 届く'
  })
}
