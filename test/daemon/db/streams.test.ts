import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { appendEvent, appendEvents, type Db, eventsAfter } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('streams', (fresh, dialect) => {
  const clock = manualClock()
  const append = (db: Db, n: number) =>
    db.transaction().execute((tx) => appendEvent(tx, clock, { stream: 's', source: 'core', eventType: 'space.created', payload: { n } }))

  test('numbers rise by one, and pages continue after the last number read', async () => {
    const db = await fresh()
    for (let n = 1; n <= 5; n++) expect(await append(db, n)).toBe(n)
    const page = await eventsAfter(db, { stream: 's', after: 2, limit: 2 })
    expect(page.map((event) => event.payload)).toEqual([{ n: 3 }, { n: 4 }])
  })

  test('events of one transaction keep their order, without a gap before or after', async () => {
    const db = await fresh()
    await append(db, 1)
    const some = Array.from({ length: 20 }, (_, at) => ({
      source: 'core',
      eventType: 'space.created' as const,
      payload: { n: at + 2 },
      createdAt: `t${at}`,
    }))
    expect(await db.transaction().execute((tx) => appendEvents(tx, 's', some))).toBe(21)
    expect(await append(db, 22)).toBe(22)
    const seen = await eventsAfter(db, { stream: 's', after: 0 })
    expect(seen.map(({ seq, payload }) => [seq, payload])).toEqual(Array.from({ length: 22 }, (_, at) => [at + 1, { n: at + 1 }]))
    expect(seen[1]?.createdAt).toBe('t0')
  })

  test('more events than fit into one insert keep their order', async () => {
    const db = await fresh()
    const many = Array.from({ length: 1_203 }, (_, n) => ({
      source: 'core',
      eventType: 'space.created' as const,
      payload: { n },
      createdAt: 't',
    }))
    expect(await db.transaction().execute((tx) => appendEvents(tx, 's', many))).toBe(1_203)
    const stored = await eventsAfter(db, { stream: 's', after: 0, limit: 2_000 })
    expect(stored.map(({ seq, payload }) => [seq, payload])).toEqual(many.map(({ payload }, n) => [n + 1, payload]))
  })

  test('an aborted transaction leaves no gap', async () => {
    const db = await fresh()
    await append(db, 1)
    const aborted = db.transaction().execute(async (tx) => {
      await appendEvent(tx, clock, { stream: 's', source: 'core', eventType: 'space.created', payload: {} })
      throw new Error('changed my mind')
    })
    await expect(aborted).rejects.toThrow('changed my mind')
    expect(await append(db, 2)).toBe(2)
  })

  test.runIf(dialect === 'postgres')('a reader never sees a number before the ones below it', async () => {
    const db = await fresh()
    await Promise.all(Array.from({ length: 40 }, (_, n) => append(db, n)))
    const seen = await eventsAfter(db, { stream: 's', after: 0 })
    expect(seen.map((event) => event.seq)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1))
  })
})
