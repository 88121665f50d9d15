/** CodeMirror as every editor of the page has it: its look, and where it lives. Loaded with the editors alone. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { EditorState, Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--code-ink)', backgroundColor: 'var(--code-surface)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--font-code)',
    fontSize: 'var(--editor-font-size)',
    lineHeight: 'var(--editor-line-height)',
  },
  '.cm-content': { padding: '0.75rem 0', caretColor: 'var(--code-ink)' },
  '.cm-line': { padding: '0 1rem 0 0.5rem' },
  '.cm-gutters': { color: 'var(--code-comment)', backgroundColor: 'var(--code-surface)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '2.5rem', padding: '0 0.5rem 0 0' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--code-active-line)' },
  '&.cm-focused .cm-activeLineGutter': {
    color: 'var(--code-ink)',
    backgroundColor: 'var(--code-active-line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-cursor': { borderLeftColor: 'var(--code-ink)', borderLeftWidth: '2px' },
  '& > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    background: 'var(--code-selection) !important',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--code-selection)' },
})

const colours = HighlightStyle.define([
  { tag: [tags.comment], color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--code-number)' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: 'var(--code-function)',
  },
])

export const codeLook: Extension = [syntaxHighlighting(colours), look]

/**
 * The editor lives in a shadow root: there CodeMirror adds its styles as constructed style sheets, which a
 * Content-Security-Policy without 'unsafe-inline' allows. In the document it would add <style> elements.
 */
export function createView(host: HTMLElement, state: EditorState): EditorView {
  const root = host.attachShadow({ mode: 'open' })
  return new EditorView({ state, root, parent: root })
}

/** Replaces the whole text in one step that the learner can undo. */
export function replaceText(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
}
