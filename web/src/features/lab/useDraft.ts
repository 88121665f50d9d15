import { onScopeDispose, reactive, ref, toRaw, watch, type Ref } from 'vue'
import type { Files, Lab } from '../../api/types.ts'
import { loadDraft, mergeDraft, saveDraft, type Draft } from './draft.ts'

const SAVE_AFTER_MS = 300

/** The draft of the lab on the page: read when the lab arrives, saved a moment after each change. */
export function useDraft(lab: Ref<Lab | null>) {
  const draft = reactive<Draft>({ files: {}, answers: {} })
  const saved = ref(true)
  let slug: string | null = null
  let timer = 0

  function save(): void {
    clearTimeout(timer)
    timer = 0
    if (slug) saved.value = saveDraft(localStorage, slug, toRaw(draft))
  }

  function saveSoon(): void {
    clearTimeout(timer)
    timer = window.setTimeout(save, SAVE_AFTER_MS)
  }

  function flush(): void {
    if (timer) save()
  }

  watch(
    lab,
    (now) => {
      if (!now || now.slug === slug) return
      flush()
      slug = now.slug
      Object.assign(draft, mergeDraft(now.starter, loadDraft(localStorage, now.slug)))
    },
    { immediate: true, flush: 'sync' },
  )

  function setFile(name: string, text: string): void {
    if (draft.files[name] === text) return
    draft.files[name] = text
    saveSoon()
  }

  function setFiles(files: Files): void {
    draft.files = { ...files }
    save()
  }

  function setAnswers(answers: Draft['answers']): void {
    draft.answers = answers
    saveSoon()
  }

  window.addEventListener('pagehide', flush)
  onScopeDispose(() => {
    window.removeEventListener('pagehide', flush)
    flush()
  })

  return { draft, saved, setFile, setFiles, setAnswers, flush }
}
