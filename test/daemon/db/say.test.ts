import { expect, test } from 'vitest'
import { onOneConnection, prepared } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { Died, mortal } from '../../support/dying.ts'

type Stream = { stream: string; seq: number }

const insert = prepared<Stream, unknown>((db, place) => db.insertInto('streams').values({ stream: place('stream'), seq: place('seq') }))
const all = prepared<Record<never, never>, Stream>((db) => db.selectFrom('streams').selectAll().orderBy('stream'))

onBothDialects('a statement that goes straight to its connection', (fresh) => {
  test('sees what its own transaction wrote, and a look beside it only what was committed', async () => {
    const db = await fresh()
    let beside: Promise<readonly Stream[]> | undefined
    await db.transaction().execute(async (tx) => {
      await insert(tx, { stream: 'a', seq: 1 })
      beside = onOneConnection(db, async (one) => (await all(one, {})).rows)
      await insert(tx, { stream: 'b', seq: 2 })
      expect((await all(tx, {})).rows).toHaveLength(2)
    })
    expect([0, 2]).toContain((await beside)?.length)
  })

  test('of a transaction that was broken off leaves nothing to the next look', async () => {
    const db = await fresh()
    const beside: Promise<readonly Stream[]>[] = []
    const broken = db.transaction().execute(async (tx) => {
      await insert(tx, { stream: 'a', seq: 1 })
      beside.push(onOneConnection(db, async (one) => (await all(one, {})).rows))
      throw new Error('changed my mind')
    })
    await expect(broken).rejects.toThrow('changed my mind')
    expect(await beside[0]).toEqual([])
  })

  test('fails as any other, and its connection goes on', async () => {
    const db = await fresh()
    await insert(db, { stream: 'a', seq: 1 })
    await expect(onOneConnection(db, (one) => insert(one, { stream: 'a', seq: 1 }))).rejects.toThrow()
    await expect(db.transaction().execute((tx) => insert(tx, { stream: 'a', seq: 1 }))).rejects.toThrow()
    expect((await all(db, {})).rows).toEqual([{ stream: 'a', seq: 1 }])
  })

  test('is seen by plugins all the same', async () => {
    const db = await fresh()
    const { db: dying } = mortal(db, 1)
    const looks = onOneConnection(dying, async (one) => {
      await all(one, {})
      await all(one, {})
    })
    await expect(looks).rejects.toBeInstanceOf(Died)
  })
})
