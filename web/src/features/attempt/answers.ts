/** Between what a form holds (texts) and what the API takes (texts, numbers, lists). */
import type { Answers, Question } from '../../api/types.ts'

/** A number is kept as it was typed, so that "3." survives on the way to "3.5". */
export type FormValues = Record<string, string | string[]>

export interface Filled {
  answers: Answers
  /** Ids of questions whose text is not a number. */
  notNumbers: string[]
}

export function isFilled(value: string | string[] | undefined): boolean {
  return value !== undefined && (Array.isArray(value) ? value.length > 0 : value.trim() !== '')
}

/** Questions left open are left out. */
export function toAnswers(questions: readonly Question[], values: Readonly<FormValues>): Filled {
  const filled: Filled = { answers: {}, notNumbers: [] }
  for (const { id, type } of questions) {
    const value = values[id]
    if (value === undefined || !isFilled(value)) continue
    if (type !== 'number' || Array.isArray(value)) {
      filled.answers[id] = Array.isArray(value) ? [...value] : value.trim()
      continue
    }
    const number = parseNumber(value)
    if (number === null) filled.notNumbers.push(id)
    else filled.answers[id] = number
  }
  return filled
}

/** The answers of an attempt as a form holds them. Their values are open in the schema, so anything may come. */
export function toFormValues(answers: Readonly<Record<string, unknown>>): FormValues {
  const entries = Object.entries(answers).map(([id, value]) => [id, formValue(value)] as const)
  return Object.fromEntries(entries)
}

function formValue(value: unknown): string | string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

/** Accepts full-width digits as well, which Japanese input methods type. */
function parseNumber(text: string): number | null {
  const plain = text.normalize('NFKC').trim()
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(plain) ? Number(plain) : null
}
