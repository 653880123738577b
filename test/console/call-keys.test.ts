import { expect, test } from 'vitest'
import { callKeys } from '../../src/console/kit/call-keys.ts'
import { type ProblemCode, problem } from '../../src/core/kit/index.ts'

function aClient() {
  let [keys, nowMs] = [0, 0]
  const withKey = callKeys({ newKey: () => `key-${++keys}`, nowMs: () => nowMs })
  const send = (call: string, code?: ProblemCode) =>
    new Promise<string>((sent) => {
      const answer = async (key: string) => {
        sent(key)
        if (code) throw problem(code, 'x')
      }
      withKey(call, answer).catch(() => undefined)
    })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { send, pass }
}

test.each(['UNREACHABLE', 'UNAVAILABLE', 'INTERNAL'] as const)('a call that ended with %s is repeated under its key', async (code) => {
  const { send } = aClient()
  expect([await send('create a', code), await send('create a', code), await send('create a')]).toEqual(['key-1', 'key-1', 'key-1'])
  expect(await send('create a')).toBe('key-2')
})

test('another call, an answered one and a later one are no repetition', async () => {
  const { send, pass } = aClient()
  expect([await send('create a', 'UNREACHABLE'), await send('create b', 'CONFLICT'), await send('create b')]).toEqual([
    'key-1',
    'key-2',
    'key-3',
  ])
  pass(5 * 60_000)
  expect(await send('create a')).toBe('key-4')
})
