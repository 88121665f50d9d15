import { describe, expect, test } from 'vitest'
import type { Question } from '../../api/types.ts'
import { isFilled, toAnswers, toFormValues } from './answers.ts'

function question(id: string, type: Question['type'], multiple = false): Question {
  return { id, type, multiple, stage: 'before', prompt_html: '', options: [] }
}

const questions = [
  question('who', 'choice'),
  question('which', 'choice', true),
  question('tid', 'number'),
  question('why', 'text'),
]

describe('answers', () => {
  test('each kind goes out as the API takes it', () => {
    const values = { who: 'main', which: ['a', 'b'], tid: '42', why: ' because ' }
    expect(toAnswers(questions, values)).toEqual({
      answers: { who: 'main', which: ['a', 'b'], tid: 42, why: 'because' },
      notNumbers: [],
    })
  })

  test('questions left open are left out, and so is what no question asks', () => {
    const values = { which: [], tid: '  ', why: '', removed: 'x' }
    expect(toAnswers(questions, values)).toEqual({ answers: {}, notNumbers: [] })
  })

  test.each([
    ['42', 42],
    ['４２', 42],
    [' 3.5 ', 3.5],
    ['-1', -1],
    ['.5', 0.5],
    ['0', 0],
  ])('%j is the number %d', (typed, number) => {
    expect(toAnswers(questions, { tid: typed }).answers).toEqual({ tid: number })
  })

  test.each(['four', '4 threads', '0x10', '1e3', '1,000', '--1', '.'])(
    '%j is no number and is named',
    (typed) => {
      expect(toAnswers(questions, { tid: typed })).toEqual({ answers: {}, notNumbers: ['tid'] })
    },
  )

  test('an attempt’s answers come back into the form', () => {
    const values = toFormValues({ who: 'main', which: ['a'], tid: 42 })
    expect(values).toEqual({ who: 'main', which: ['a'], tid: '42' })
    expect(toAnswers(questions, values).answers).toEqual({ who: 'main', which: ['a'], tid: 42 })
  })

  test('what counts as filled in', () => {
    expect([undefined, '', ' ', [], 'x', ['x']].map(isFilled)).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
    ])
  })
})
