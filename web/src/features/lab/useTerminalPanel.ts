import { nextTick, ref, type Ref } from 'vue'
import { currentTerminal } from '../../api/client.ts'

// Per tab: a reload comes back to the terminal, and another tab does not take it away.
const STORAGE_KEY = 'todoku:terminal'

/** Whether terminals are offered here, and whether the learner has theirs in sight. */
export function useTerminalPanel(button: Readonly<Ref<HTMLElement | null>>) {
  const offered = ref(false)
  const shown = ref(false)
  /** Whether it was opened by a press, whose focus it then takes. */
  const pressed = ref(false)

  function become(now: boolean): void {
    shown.value = now
    pressed.value = now
    try {
      if (now) sessionStorage.setItem(STORAGE_KEY, 'shown')
      else sessionStorage.removeItem(STORAGE_KEY)
    } catch {
      // Storage is forbidden: a reload hides it.
    }
  }

  /** The focus goes back to where it was opened. */
  async function hide(): Promise<void> {
    become(false)
    await nextTick()
    button.value?.focus()
  }

  async function ask(): Promise<void> {
    // Where no answer comes the page has worse to tell.
    const offer = await currentTerminal().catch(() => null)
    offered.value = offer !== null && offer.refused == null
    shown.value ||= offered.value && offer?.terminal != null && remembered()
  }

  void ask()
  return { offered, shown, pressed, show: () => become(true), hide }
}

function remembered(): boolean {
  try {
    return sessionStorage.getItem(STORAGE_KEY) === 'shown'
  } catch {
    return false
  }
}
