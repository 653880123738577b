import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { makeTurns } from '../../../src/daemon/db/turns.ts'

test('one at a time has its turn, in the order they came, and none is left waiting', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 30 }), async (pauses) => {
      const turns = makeTurns()
      const had: number[] = []
      let inside = 0
      const one = async (pause: number, nth: number) => {
        await turns.take()
        expect(++inside).toBe(1)
        for (let n = 0; n < pause; n++) await undefined
        had.push(nth)
        inside--
        turns.pass()
      }
      await Promise.all(pauses.map(one))
      expect(had).toEqual(pauses.map((_, nth) => nth))
    }),
  )
})

test('whoever takes a turn wakes nobody but the next', async () => {
  const turns = makeTurns()
  await turns.take()
  let woken = 0
  const others = Array.from({ length: 1000 }, () => turns.take().then(() => woken++))
  turns.pass()
  await others[0]
  await new Promise(setImmediate)
  expect(woken).toBe(1)
})

test('the connection of SQLite goes on to the next when a transaction fails', async () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  const failing = db.transaction().execute(async () => {
    throw new Error('no')
  })
  const asked = sql<{ n: number }>`select 1 as n`.execute(db)
  await expect(failing).rejects.toThrow('no')
  expect((await asked).rows).toEqual([{ n: 1 }])
})
