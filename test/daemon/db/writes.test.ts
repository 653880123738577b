import { expect, test } from 'vitest'
import { deleteRows, executeWrites, insertRows, readRow, updateRows } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'

const row = (stream: string, seq: number) => ({ stream, seq })

onBothDialects('writes', (fresh) => {
  const stored = async (db: Awaited<ReturnType<typeof fresh>>) =>
    db.selectFrom('streams').select(['stream', 'seq']).orderBy('stream').execute()

  test('writes sent together change all their rows, also when they are repeated', async () => {
    const db = await fresh()
    for (let n = 0; n < 10; n++) {
      const [first, second, third] = [`a${n}`, `b${n}`, `c${n}`] as const
      await db.transaction().execute((tx) => executeWrites(tx, [insertRows('streams', [row(first, 1), row(second, 2)])]))
      await db
        .transaction()
        .execute((tx) =>
          executeWrites(tx, [
            updateRows('streams', { stream: first }, { seq: 7 }),
            deleteRows('streams', { stream: second }),
            insertRows('streams', [row(third, n)]),
          ]),
        )
    }
    expect(await stored(db)).toEqual([
      ...Array.from({ length: 10 }, (_, n) => row(`a${n}`, 7)),
      ...Array.from({ length: 10 }, (_, n) => row(`c${n}`, n)),
    ])
  })

  test('if one of the writes fails, none is stored', async () => {
    const db = await fresh()
    await db.transaction().execute((tx) => executeWrites(tx, [insertRows('streams', [row('a', 1)])]))
    const twice = db
      .transaction()
      .execute((tx) => executeWrites(tx, [insertRows('streams', [row('b', 1)]), insertRows('streams', [row('a', 2)])]))
    await expect(twice).rejects.toThrow()
    expect(await stored(db)).toEqual([row('a', 1)])
  })

  test('a row is read by its key, also after a migration added a column', async () => {
    const db = await fresh()
    await db.transaction().execute((tx) => executeWrites(tx, [insertRows('streams', [row('a', 1)])]))
    const read = (stream: string) => readRow(db, { table: 'streams', columns: ['stream', 'seq'], where: { stream } })
    for (let n = 0; n < 10; n++) expect(await read('a')).toEqual(row('a', 1))
    await db.schema.alterTable('streams').addColumn('more', 'text').execute()
    expect(await read('a')).toEqual(row('a', 1))
    expect(await read('b')).toBeUndefined()
  })
})
