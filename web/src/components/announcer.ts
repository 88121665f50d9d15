import { nextTick, readonly, ref } from 'vue'

const text = ref('')

/** The text of the page's one polite live region (rendered by App.vue). */
export function useAnnouncement() {
  return readonly(text)
}

/** Says a sentence to screen readers. The same sentence twice is said twice. */
export async function announce(sentence: string): Promise<void> {
  text.value = ''
  await nextTick()
  text.value = sentence
}
