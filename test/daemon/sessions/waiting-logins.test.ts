import { expect, test } from 'vitest'
import { waitingLogins } from '../../../src/daemon/sessions/waiting-logins.ts'

test('a hundred wait for one account, the next does not, and a place is free once one has ended', async () => {
  const waiting = waitingLogins()
  const ends: (() => void)[] = []
  const come = (subject: string) => waiting.wait(subject, () => new Promise<void>((resolve) => void ends.push(resolve)))
  const all = Array.from({ length: 100 }, () => come('anna'))
  expect(come('anna')).toBeUndefined()
  expect(come('ben')).toBeDefined()
  ends[0]?.()
  await all[0]
  expect(come('anna')).toBeDefined()
})

test('a wait that fails gives its place back', async () => {
  const waiting = waitingLogins()
  for (let n = 0; n < 600; n++)
    await expect(waiting.wait('anna', () => Promise.reject(new Error('the database is away')))).rejects.toThrow('away')
})
