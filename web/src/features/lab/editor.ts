/** CodeMirror, set up for the page. Loaded lazily: it is the heaviest thing we ship. */
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { javascript } from '@codemirror/lang-javascript'
import { bracketMatching, indentOnInput, indentUnit } from '@codemirror/language'
import { EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { codeLook } from '../../components/code-editor.ts'

/** One open file. Each file has its own state, so each keeps its own cursor and its own undo. */
export function openFile(options: {
  name: string
  text: string
  label: string
  hint: string
  readOnly: boolean
  onChange: (text: string) => void
}): EditorState {
  const { name, text, label, hint, readOnly, onChange } = options
  const typescript = /\.[cm]?tsx?$/.test(name)
  // By default an editable element takes the focus, but it is not said to.
  const attributes: Record<string, string> = { 'aria-label': label, 'aria-description': hint, tabindex: '0' }
  if (readOnly) attributes['aria-readonly'] = 'true'
  const extensions: Extension[] = [
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    drawSelection(),
    bracketMatching(),
    indentUnit.of('  '),
    javascript({ typescript }),
    codeLook,
    EditorView.contentAttributes.of(attributes),
    EditorView.lineWrapping,
  ]
  if (readOnly) {
    // Still focusable and selectable, but Tab is never trapped.
    extensions.push(EditorState.readOnly.of(true), keymap.of(defaultKeymap))
  } else {
    extensions.push(
      history(),
      closeBrackets(),
      indentOnInput(),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString())
      }),
    )
  }
  return EditorState.create({ doc: text, extensions })
}
