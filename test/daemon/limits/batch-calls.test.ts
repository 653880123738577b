import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { batchCalls } from '../../../src/daemon/limits/batch-calls.ts'

/** Rounds that are answered with what was asked when they are let go. */
function aWorld({ most = 10 } = {}) {
  const rounds: { questions: readonly number[]; end(error?: Error): void }[] = []
  const ask = batchCalls<number, string>(most, (questions) => {
    return new Promise((resolve, reject) => {
      rounds.push({ questions, end: (error) => (error ? reject(error) : resolve(questions.map((one) => `a${one}`))) })
    })
  })
  return { ask, rounds, asked: () => rounds.map(({ questions }) => questions) }
}

test('who asks alone is asked for at once', async () => {
  const { ask, rounds, asked } = aWorld()
  const answer = ask(1)
  expect(asked()).toEqual([[1]])
  rounds[0]?.end()
  expect(await answer).toBe('a1')
  const next = ask(2)
  expect(asked()).toEqual([[1], [2]])
  rounds[1]?.end()
  expect(await next).toBe('a2')
})

test('those who ask in one turn while a round is under way share the next, in their order, and do not wait for its end', async () => {
  const { ask, rounds, asked } = aWorld()
  const answers = [1, 2, 3, 4].map((one) => ask(one))
  expect(asked()).toEqual([[1]])
  await yieldToEventLoop()
  expect(asked()).toEqual([[1], [2, 3, 4]])
  for (const { end } of rounds) end()
  expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3', 'a4'])
})

test('no round is larger than may be', async () => {
  const { ask, rounds, asked } = aWorld({ most: 2 })
  const answers = [1, 2, 3, 4].map((one) => ask(one))
  await yieldToEventLoop()
  expect(asked()).toEqual([[1], [2, 3], [4]])
  for (const { end } of rounds) end()
  await Promise.all(answers)
})

test('a round that fails fails for all who were in it, and for nobody else', async () => {
  const { ask, rounds } = aWorld()
  const answers = [1, 2, 3].map((one) => ask(one).catch((error: Error) => error.message))
  await yieldToEventLoop()
  rounds[0]?.end()
  rounds[1]?.end(new Error('gone'))
  expect(await Promise.all(answers)).toEqual(['a1', 'gone', 'gone'])
})
