/** CodeMirror for one query: SQLite's words, the names of the evidence, and a mark where a query is wrong. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  ifNotIn,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { sql, SQLite, type SQLNamespace } from '@codemirror/lang-sql'
import { bracketMatching, indentUnit } from '@codemirror/language'
import { Compartment, EditorState, Prec, StateEffect, StateField } from '@codemirror/state'
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  type DecorationSet,
} from '@codemirror/view'
import type { EvidenceSchema } from '../../api/evidence.ts'
import { codeLook } from '../../components/code-editor.ts'

/** Marks a part of the text as wrong; null takes the mark away. */
export const setFault = StateEffect.define<{ from: number; to: number } | null>()

const faultMark = Decoration.mark({ class: 'cm-fault' })
const faultField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    // Another text is no longer what was refused.
    let now = change.docChanged ? Decoration.none : marks
    for (const effect of change.effects) {
      if (!effect.is(setFault)) continue
      const { value } = effect
      now =
        value && value.to > value.from
          ? Decoration.set(faultMark.range(value.from, value.to))
          : Decoration.none
    }
    return now
  },
  provide: (field) => EditorView.decorations.from(field),
})

const look = EditorView.theme({
  '.cm-content': { padding: '0.6rem 0' },
  '.cm-fault': {
    textDecoration: 'underline wavy var(--fail)',
    textUnderlineOffset: '0.25em',
    backgroundColor: 'var(--fail-soft)',
  },
  '.cm-tooltip': {
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius-s)',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    boxShadow: '0 4px 16px rgb(0 0 0 / 0.18)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--font-code)',
    fontSize: 'var(--editor-font-size)',
    maxHeight: '16em',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.15rem 0.5rem' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionIcon': { display: 'none' },
  '.cm-completionDetail': { marginInlineStart: '0.75em', fontStyle: 'normal', opacity: '0.75' },
  '.cm-tooltip.cm-completionInfo': {
    padding: '0.4rem 0.6rem',
    maxWidth: '20rem',
    fontFamily: 'var(--font-text)',
    fontSize: 'var(--text-s)',
    lineHeight: '1.5',
  },
})

const names = new Compartment()

export interface SqlEditorOptions {
  text: string
  label: string
  hint: string
  onChange: (text: string) => void
  onRun: () => void
}

export function openQuery({ text, label, hint, onChange, onRun }: SqlEditorOptions): EditorState {
  const run = { key: 'Mod-Enter', run: () => (onRun(), true) }
  return EditorState.create({
    doc: text,
    extensions: [
      Prec.highest(keymap.of([run, { key: 'Tab', run: acceptCompletion }])),
      lineNumbers(),
      highlightSpecialChars(),
      drawSelection(),
      bracketMatching(),
      history(),
      closeBrackets(),
      indentUnit.of('  '),
      names.of(sql({ dialect: SQLite })),
      autocompletion({ icons: false, maxRenderedOptions: 60 }),
      faultField,
      codeLook,
      look,
      EditorView.lineWrapping,
      // Focusable as it is; the attribute says so to who does not know editable elements.
      EditorView.contentAttributes.of({ 'aria-label': label, 'aria-description': hint, tabindex: '0' }),
      // Tab leaves the field: a query is short, and few are indented.
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString())
      }),
    ],
  })
}

/** Teaches the editor the names of the evidence, once they are known. */
export function teachNames(view: EditorView, schema: EvidenceSchema): void {
  const namespace: SQLNamespace = Object.fromEntries(
    schema.tables.map((table) => [
      table.name,
      {
        self: { label: table.name, type: 'type', detail: table.kind, info: table.about },
        children: table.columns.map(columnCompletion),
      },
    ]),
  )
  const inText = ['String', 'LineComment', 'BlockComment', 'QuotedIdentifier']
  const more = SQLite.language.data.of({ autocomplete: ifNotIn(inText, bareNames(schema)) })
  view.dispatch({ effects: names.reconfigure([sql({ dialect: SQLite, schema: namespace }), more]) })
}

function columnCompletion(column: { name: string; type: string; about: string }): Completion {
  return { label: column.name, type: 'property', detail: column.type, info: column.about }
}

/** Columns without their table before them, of the tables that the query names (of all where it names none). */
function bareNames(schema: EvidenceSchema): (context: CompletionContext) => CompletionResult | null {
  const functions = (schema.functions ?? []).map(({ name, signature, about }): Completion => ({
    label: name,
    type: 'function',
    detail: signature,
    info: about,
  }))
  return (context) => {
    const word = context.matchBefore(/\w+/)
    if (!word && !context.explicit) return null
    const from = word?.from ?? context.pos
    if (context.state.sliceDoc(from - 1, from) === '.') return null
    const words = new Set(context.state.doc.toString().toLowerCase().match(/\w+/g))
    const named = schema.tables.filter(({ name }) => words.has(name))
    const columns = new Map<string, Completion>()
    for (const table of named.length ? named : schema.tables) {
      for (const column of table.columns) {
        if (!columns.has(column.name)) columns.set(column.name, { ...columnCompletion(column), boost: 1 })
      }
    }
    return { from, options: [...columns.values(), ...functions], validFor: /^\w*$/ }
  }
}
