import { expect, test } from 'vitest'
import { problem } from '../../src/core/kit/index.ts'
import { printProblem } from '../../src/node/command-line.ts'

const reported = (json: boolean) => {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  const details = [
    { path: 'mail\u001b[2J', reason: 'is not a known field' },
    { path: 'port', reason: 'must be a\u0007 number' },
  ]
  const exit = printProblem(
    { stderr: { write }, env: {} } as never,
    problem('CONFIG_INVALID', 'settings\u001b do not fit', { details }),
    json,
  )
  return { exit, text, details }
}

test('errors about settings are printed without their control characters', () => {
  expect(reported(false)).toMatchObject({
    exit: 2,
    text: 'error: settings\ufffd do not fit [CONFIG_INVALID]\n  mail\ufffd[2J is not a known field\n  port must be a\ufffd number\n',
  })
})

test('a fault that the message names is not listed again', () => {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  const details = ['a', 'b'].map((path) => ({ path, reason: 'is not a known field' }))
  const message = `x.yaml: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`
  printProblem({ stderr: { write }, env: {} } as never, problem('CONFIG_INVALID', message, { details }), false)
  expect(text).toBe('error: x.yaml: a is not a known field; b is not a known field [CONFIG_INVALID]\n')
})

test('--json prints the whole error on one line', () => {
  const { text, details } = reported(true)
  expect([text.trimEnd().split('\n').length, JSON.parse(text)]).toMatchObject([1, { code: 'CONFIG_INVALID', details }])
})
