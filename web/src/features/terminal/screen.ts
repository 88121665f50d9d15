/** xterm.js, set up for the page. Loaded with the terminal alone. */
import { FitAddon } from '@xterm/addon-fit'
import { Terminal, type ITheme } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { makeElementsStrict } from './strict-document.ts'

const ANSI = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const

export interface Screen {
  show: (bytes: Uint8Array, shown: () => void) => void
  reset: () => void
  focus: () => void
  /** Labels for screen readers: what it is, and how to leave it. */
  label: (label: string, hint: string) => void
  spoken: (on: boolean) => void
  /** Follows the page's colours. */
  colour: () => void
  /** Follows the room that it has. */
  fit: () => void
  dispose: () => void
}

export function openScreen(
  host: HTMLElement,
  on: { typed: (text: string) => void; resized: (cols: number, rows: number) => void; left: () => void },
): Screen {
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  const terminal = new Terminal({
    cursorBlink: !still,
    scrollback: 5000,
    fontFamily: getComputedStyle(host).fontFamily,
    fontSize: parseFloat(getComputedStyle(host).fontSize),
    theme: themeOf(host),
    minimumContrastRatio: 4.5,
    macOptionIsMeta: true,
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  const endStrictness = makeElementsStrict()
  terminal.open(host)
  terminal.onData(on.typed)
  terminal.onResize(({ cols, rows }) => on.resized(cols, rows))
  terminal.attachCustomKeyEventHandler((event) => ownKey(event, terminal, on.left))
  fit.fit()
  on.resized(terminal.cols, terminal.rows)
  return {
    show: (bytes, shown) => terminal.write(bytes, shown),
    // In order with what is still to be shown: the sequence that resets a terminal.
    reset: () => terminal.write('\u001bc'),
    focus: () => terminal.focus(),
    label: (label, hint) => {
      terminal.textarea?.setAttribute('aria-label', label)
      terminal.textarea?.setAttribute('aria-description', hint)
    },
    spoken: (yes) => (terminal.options.screenReaderMode = yes),
    colour: () => (terminal.options.theme = themeOf(host)),
    fit: () => fit.fit(),
    dispose: () => {
      terminal.dispose()
      endStrictness()
    },
  }
}

/** Keys that are the page's: false keeps them from the shell. */
function ownKey(event: KeyboardEvent, terminal: Terminal, left: () => void): boolean {
  const control = (event.ctrlKey || event.metaKey) && !event.altKey
  const key = event.key.toLowerCase()
  if (key === 'f6') {
    if (event.type === 'keydown') left()
    event.preventDefault()
    return false
  }
  // The browser's own paste, which the terminal hears of.
  if (control && key === 'v') return false
  if (control && key === 'c' && terminal.hasSelection()) {
    if (event.type === 'keydown') {
      void navigator.clipboard?.writeText(terminal.getSelection()).then(() => terminal.clearSelection())
    }
    event.preventDefault()
    return false
  }
  return true
}

function themeOf(host: HTMLElement): ITheme {
  const probe = document.createElement('span')
  host.append(probe)
  const colour = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const theme: ITheme = {
    background: colour('--code-surface'),
    foreground: colour('--code-ink'),
    cursor: colour('--code-ink'),
    cursorAccent: colour('--code-surface'),
    selectionBackground: colour('--code-selection'),
    scrollbarSliderBackground: colour('--line'),
    scrollbarSliderHoverBackground: colour('--line-strong'),
    scrollbarSliderActiveBackground: colour('--line-strong'),
  }
  for (const name of ANSI) {
    theme[name] = colour(`--ansi-${name}`)
    theme[`bright${name[0]?.toUpperCase()}${name.slice(1)}` as keyof ITheme & `bright${string}`] = colour(
      `--ansi-${name}`,
    )
  }
  probe.remove()
  return theme
}
