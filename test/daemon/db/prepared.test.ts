import { expect, test } from 'vitest'
import { type Db, placesFor, prepared, preparedFor, preparedList, preparedRows } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { Died, mortal } from '../../support/dying.ts'

type Stream = { stream: string; seq: number }

let built = 0
const insert = prepared<Stream, unknown>((db, place) => {
  built += 1
  return db.insertInto('streams').values(placesFor(place, ['stream', 'seq']))
})
const seqOf = prepared<{ stream: string }, { seq: number }>((db, place) =>
  db.selectFrom('streams').select('seq').where('stream', '=', place('stream')),
)
const move = preparedFor((column: string) =>
  prepared<Stream & { is: string }, unknown>((db, place) =>
    db
      .updateTable('streams')
      .set(placesFor(place, [column as 'seq']))
      .where('stream', '=', place('is')),
  ),
)
const among = preparedList<string, Stream>((db, names) =>
  db.selectFrom('streams').selectAll().where('stream', 'in', names).orderBy('stream'),
)

const insertAll = preparedRows<Stream, { seq: number }>(['stream', 'seq'], (db, rows) =>
  db
    .insertInto('streams')
    .values([...rows])
    .returning('seq'),
)

onBothDialects('a prepared statement', (fresh) => {
  const withStreams = async (): Promise<Db> => {
    const db = await fresh()
    for (const [at, stream] of ['a', 'b', 'c', 'd', 'e'].entries()) await insert(db, { stream, seq: at + 1 })
    return db
  }

  test('is built once and takes other values each time, in every database of its dialect', async () => {
    const before = built
    for (const db of [await withStreams(), await withStreams()])
      for (const [stream, seq] of [['a', 1] as const, ['e', 5] as const]) expect((await seqOf(db, { stream })).rows).toEqual([{ seq }])
    expect(built - before).toBeLessThanOrEqual(1)
  })

  test('says how many rows it changed', async () => {
    const db = await withStreams()
    expect(await move('seq')(db, { stream: 'x', seq: 9, is: 'a' })).toMatchObject({ changed: 1n })
    expect(await move('seq')(db, { stream: 'x', seq: 9, is: 'nobody' })).toMatchObject({ changed: 0n })
    expect((await seqOf(db, { stream: 'a' })).rows).toEqual([{ seq: 9 }])
  })

  test('is part of the transaction that it is said in', async () => {
    const db = await withStreams()
    const broken = db.transaction().execute(async (tx) => {
      await move('stream')(tx, { stream: 'z', seq: 0, is: 'a' })
      throw new Error('changed my mind')
    })
    await expect(broken).rejects.toThrow('changed my mind')
    expect((await seqOf(db, { stream: 'a' })).rows).toHaveLength(1)
  })

  test('about a list finds all of it, whatever its length, and nothing twice', async () => {
    const db = await withStreams()
    const names = ['a', 'b', 'c', 'd', 'e']
    for (let many = 1; many <= names.length; many++) {
      const found = await among(db, names.slice(0, many))
      expect(found.map(({ stream }) => stream)).toEqual(names.slice(0, many))
    }
  })

  test('about rows says all of them, however many, each with its own values', async () => {
    for (const many of [1, 2, 16, 17, 40]) {
      const db = await fresh()
      const rows = Array.from({ length: many }, (_, at) => ({ stream: `s${String(at).padStart(2, '0')}`, seq: at }))
      expect((await insertAll(db, rows)).map(({ seq }) => Number(seq)).sort((a, b) => a - b)).toEqual(rows.map(({ seq }) => seq))
      expect(await db.selectFrom('streams').selectAll().orderBy('stream').execute()).toEqual(rows)
    }
  })

  test('about no rows says nothing', async () => {
    const db = await fresh()
    expect(await insertAll(db, [])).toEqual([])
    expect(await db.selectFrom('streams').selectAll().execute()).toEqual([])
  })

  test('is seen by plugins each time: a client that was killed says it no more', async () => {
    const db = await withStreams()
    await seqOf(db, { stream: 'a' })
    const { db: dying } = mortal(db, 2)
    await seqOf(dying, { stream: 'a' })
    await seqOf(dying, { stream: 'a' })
    await expect(seqOf(dying, { stream: 'a' })).rejects.toBeInstanceOf(Died)
  })
})
