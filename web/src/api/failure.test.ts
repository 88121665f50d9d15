import { describe, expect, test } from 'vitest'
import { failureFrom, networkFailure } from './failure.ts'

describe('failures', () => {
  test('an error body is read whole', () => {
    const failure = failureFrom(422, {
      title: 'Unprocessable Content',
      code: 'invalid_submission',
      detail: 'Two fields are wrong.',
      errors: [
        { field: 'files.../x.js', code: 'file_name_parent', message: 'no ..' },
        { field: 'answers.tid', code: 'not_a_number', message: 'a number' },
        { nonsense: true },
      ],
      request_id: 'r1',
    })
    expect(failure).toMatchObject({
      status: 422,
      code: 'invalid_submission',
      requestId: 'r1',
      message: 'Two fields are wrong.',
    })
    expect(failure.faultsOf('files').map(({ message }) => message)).toEqual(['no ..'])
    expect(failure.faultsOf('answers').map(({ message }) => message)).toEqual(['a number'])
    expect(failure.faultsOf('answers.ti')).toEqual([])
  })

  test.each([undefined, null, '<html>Bad gateway</html>', 7, {}])(
    'a body of another form (%j) is an http failure',
    (body) => {
      expect(failureFrom(502, body)).toMatchObject({
        status: 502,
        code: 'http',
        message: 'HTTP 502',
        faults: [],
      })
    },
  )

  test('no answer at all is told apart', () => {
    expect(networkFailure(new TypeError('fetch failed'))).toMatchObject({
      isNetwork: true,
      isNotFound: false,
    })
  })
})
