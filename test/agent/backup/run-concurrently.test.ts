import { expect, test } from 'vitest'
import { runConcurrently } from '../../../src/agent/backup/index.ts'

/** Ends when it is told to, a turn later, as a program does that is killed. */
const until = (ended: string[], name: string) => (signal: AbortSignal) =>
  new Promise<void>((_, reject) => {
    signal.addEventListener('abort', () =>
      setImmediate(() => {
        ended.push(name)
        reject(signal.reason)
      }),
    )
  })

test('the first failure ends the others, and is told once they have ended', async () => {
  const ended: string[] = []
  const fails = async () => Promise.reject(new Error('no room'))
  await expect(runConcurrently([until(ended, 'one'), fails, until(ended, 'other')])).rejects.toThrow('no room')
  expect(ended).toEqual(['one', 'other'])
})

test('an abort from outside reaches all, and is told rather than what broke at the same time', async () => {
  const ended: string[] = []
  const over = new AbortController()
  const breaks = async () => {
    over.abort(new Error('the agent drains'))
    throw new Error('broken off')
  }
  await expect(runConcurrently([until(ended, 'one'), breaks], over.signal)).rejects.toThrow('the agent drains')
  expect(ended).toEqual(['one'])
})

test('nothing is told until all are done', async () => {
  const done: number[] = []
  await runConcurrently([1, 2, 3].map((name) => async () => void done.push(name)))
  expect(done).toEqual([1, 2, 3])
})
