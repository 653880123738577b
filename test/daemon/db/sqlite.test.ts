import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'

const inMemory = () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  return db
}

test('the next query gets the connection after a failed transaction', async () => {
  const db = inMemory()
  const failing = db.transaction().execute(async () => {
    throw new Error('no')
  })
  const next = sql<{ n: number }>`select 1 as n`.execute(db)
  await expect(failing).rejects.toThrow('no')
  expect((await next).rows).toEqual([{ n: 1 }])
})

test('a thousand waiting queries run in order, and other work runs in between', async () => {
  const db = inMemory()
  const order: number[] = []
  let timers = 0
  const timer = setInterval(() => timers++, 1)
  onTestFinished(() => clearInterval(timer))
  const query = async (n: number) => {
    await db
      .transaction()
      .execute((tx) => sql`with recursive c(x) as (select 1 union all select x + 1 from c limit 2000) select max(x) from c`.execute(tx))
    order.push(n)
  }
  await Promise.all(Array.from({ length: 1000 }, (_, n) => query(n)))
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(timers).toBeGreaterThan(5)
})
