import { expect, test } from 'vitest'
import { runConcurrently } from '../../../src/agent/backup/index.ts'

/** Ends asynchronously after an abort, like a killed program. */
const until = (ended: string[], name: string) => (signal: AbortSignal) =>
  new Promise<void>((_, reject) => {
    signal.addEventListener('abort', () =>
      setImmediate(() => {
        ended.push(name)
        reject(signal.reason)
      }),
    )
  })

test('the first failure aborts the others and is thrown when they have ended', async () => {
  const ended: string[] = []
  const fails = async () => Promise.reject(new Error('no room'))
  await expect(runConcurrently([until(ended, 'one'), fails, until(ended, 'other')])).rejects.toThrow('no room')
  expect(ended).toEqual(['one', 'other'])
})

test('an external abort reaches all, and wins over failures at the same time', async () => {
  const ended: string[] = []
  const over = new AbortController()
  const breaks = async () => {
    over.abort(new Error('the agent drains'))
    throw new Error('broken off')
  }
  await expect(runConcurrently([until(ended, 'one'), breaks], over.signal)).rejects.toThrow('the agent drains')
  expect(ended).toEqual(['one'])
})

test('resolves when all are done', async () => {
  const done: number[] = []
  await runConcurrently([1, 2, 3].map((name) => async () => void done.push(name)))
  expect(done).toEqual([1, 2, 3])
})
