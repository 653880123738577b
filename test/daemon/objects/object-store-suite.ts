import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { guardedStore } from '../../../src/daemon/objects/guarded-store.ts'
import type { ObjectStore } from '../../../src/daemon/objects/index.ts'
import type { PlainStore } from '../../../src/daemon/objects/object-store.ts'

const megabyte = 1024 * 1024

/** Content in pieces, as it comes from a network; the same for the same seed. */
export function content(bytes: number, seed = 7): Buffer {
  const made = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; at += 4096) made.writeUInt8((at / 4096 + seed) % 251, at)
  return made
}

async function* flowing(whole: Buffer, pieceBytes = 60_000) {
  for (let at = 0; at < whole.length; at += pieceBytes) yield whole.subarray(at, at + pieceBytes)
}

async function* breaking(whole: Buffer, error: Error) {
  yield* flowing(whole)
  throw error
}

async function bytesOf(stream: AsyncIterable<Uint8Array> | undefined): Promise<Buffer | undefined> {
  if (!stream) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

type World = Readonly<{
  store: ObjectStore
  /** Everything that is there, whole or not. */
  left(): Promise<readonly string[]>
  /** A put that was killed after so many bytes: nobody cleared up. */
  killedPut(key: string, bytes: number): Promise<void>
}>

/** What every object store does. */
export function objectStoreSuite(world: () => Promise<World>): void {
  test.each([0, 1, 100_000, 12 * megabyte])('%i bytes come back as they were put', async (bytes) => {
    const { store } = await world()
    const whole = content(bytes)
    const key = `files/ten_1/put_${bytes}`
    expect(await store.put(key, flowing(whole))).toEqual({ bytes, sha256: createHash('sha256').update(whole).digest('hex') })
    expect((await bytesOf(await store.get(key)))?.equals(whole)).toBe(true)
    await store.remove(key)
  })

  test('a stretch is read alone, both ends included', async () => {
    const { store } = await world()
    const whole = content(100_000)
    await store.put('files/ten_1/stretch', flowing(whole))
    expect(await bytesOf(await store.get('files/ten_1/stretch', { from: 4000, to: 9000 }))).toEqual(whole.subarray(4000, 9001))
    await store.remove('files/ten_1/stretch')
  })

  test('what is not there is undefined, and removing it changes nothing', async () => {
    const { store } = await world()
    expect(await store.get('files/ten_1/nothing')).toBeUndefined()
    await store.remove('files/ten_1/nothing')
  })

  test('what was removed is gone, and its neighbours are not', async () => {
    const { store, left } = await world()
    await store.put('files/ten_1/near', flowing(content(10)))
    await store.put('files/ten_1/near_by', flowing(content(10)))
    await store.remove('files/ten_1/near')
    expect(await store.get('files/ten_1/near')).toBeUndefined()
    expect(await bytesOf(await store.get('files/ten_1/near_by'))).toEqual(content(10))
    await store.remove('files/ten_1/near_by')
    expect(await left()).toEqual([])
  })

  test.each([1000, 12 * megabyte])(
    'content that breaks off after %i bytes leaves nothing, and its failure stays what it is',
    async (bytes) => {
      const { store, left } = await world()
      const broke = problem('QUOTA_EXCEEDED', 'full')
      await expect(store.put('files/ten_1/broken', breaking(content(bytes), broke))).rejects.toBe(broke)
      expect(await store.get('files/ten_1/broken')).toBeUndefined()
      expect(await left()).toEqual([])
    },
  )

  test('content that breaks off because its sender left is no failure of the store', async () => {
    const { store, left } = await world()
    const went = new Error('aborted')
    await expect(store.put('files/ten_1/left', breaking(content(1000), went))).rejects.toBe(went)
    expect(await left()).toEqual([])
  })

  test('a put that was killed is no object, and removing its key leaves nothing of it', async () => {
    const { store, left, killedPut } = await world()
    await killedPut('files/ten_1/killed', 7 * megabyte)
    expect(await left()).toHaveLength(1)
    expect(await store.get('files/ten_1/killed')).toBeUndefined()
    await store.remove('files/ten_1/killed')
    expect(await left()).toEqual([])
  })

  test('all below a folder is taken away, and nothing beside it', async () => {
    const { store, left } = await world()
    for (const key of ['files/ten_1/one', 'files/ten_1/two', 'files/ten_10/one']) await store.put(key, flowing(content(10)))
    for (const _ of ['removed', 'repeated']) await store.removeBelow('files/ten_1')
    expect(await store.get('files/ten_1/one')).toBeUndefined()
    expect(await bytesOf(await store.get('files/ten_10/one'))).toEqual(content(10))
    await store.remove('files/ten_10/one')
    expect(await left()).toEqual([])
  })

  test('a key that leads elsewhere is a fault', async () => {
    const { store } = await world()
    for (const key of ['../a', 'a/../b', '/a', 'a//b', '', 'a\u0000', 'A b'])
      for (const use of [store.remove, store.removeBelow]) await expect((async () => use(key))()).rejects.toThrow('no key of an object')
  })

  test('a store that can be used says so', async () => {
    await (await world()).store.look()
  })
}

type Places = Readonly<{
  store: PlainStore
  /** Has no object, as where a disk is not mounted, or a new bucket. */
  another: PlainStore
  /** Everything that is in the other one. */
  leftInAnother(): Promise<readonly string[]>
}>

/** What every object store does whose database names objects. */
export function guardSuite(places: () => Promise<Places>): void {
  const uses = (store: ObjectStore, key: string) => [
    () => store.put(key, flowing(content(10))),
    () => store.get(key),
    () => store.remove(key),
    () => store.removeBelow('files/ten_1'),
    () => store.look(),
  ]

  test('nothing is stored, removed or taken for missing where there is no object but the database names some', async () => {
    const { store, another, leftInAnother } = await places()
    const clock = manualClock()
    const guard = { someObjects: async () => ['files/ten_1/none', 'files/ten_1/one'], clock }
    await store.put('files/ten_1/one', flowing(content(10)))
    const unavailable = {
      code: 'OBJECT_STORE_UNAVAILABLE',
      cause: { message: expect.stringContaining(`${another.name} has none of the objects`) },
    }
    for (const use of uses(guardedStore(another, guard), 'files/ten_1/one')) await expect(use()).rejects.toMatchObject(unavailable)
    expect(await leftInAnother()).toEqual([])
    const right = guardedStore(store, guard)
    expect(await bytesOf(await right.get('files/ten_1/one'))).toEqual(content(10))
    expect(await right.get('files/ten_1/none')).toBeUndefined()
    await right.put('files/ten_1/two', flowing(content(10)))
    await right.look()
    await right.remove('files/ten_1/two')
    await store.remove('files/ten_1/one')
  })

  test('a store of other objects is another one, until the operator says that those of the database are lost', async () => {
    const { another } = await places()
    for (const key of ['files/ten_9/one', 'ten_1/v1/config']) await another.put(key, flowing(content(10)))
    const keys = ['files/ten_1/one', 'files/ten_1/two']
    const guarded = guardedStore(another, { someObjects: async () => keys, clock: manualClock() })
    for (const use of uses(guarded, 'files/ten_1/one')) await expect(use()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    await another.put('lost_for_good', flowing(content(0)))
    for (const use of uses(guarded, 'files/ten_1/two')) await use()
  })

  test('objects that were removed since they were read are not missed', async () => {
    const { another } = await places()
    const reads = [['files/ten_1/one'], ['files/ten_1/two']]
    const guard = { someObjects: async () => reads.shift() ?? [], clock: manualClock() }
    await guardedStore(another, guard).look()
  })

  test('a store whose last object was removed is still known, or a removal that was killed could not be repeated', async () => {
    const { another } = await places()
    const open = (...keys: string[]) => guardedStore(another, { someObjects: async () => keys, clock: manualClock() })
    await open().put('files/ten_1/one', flowing(content(10)))
    for (const _ of ['killed', 'repeated']) await open('files/ten_1/one').remove('files/ten_1/one')
    expect(await open('files/ten_1/one').get('files/ten_1/one')).toBeUndefined()
    await open('files/ten_1/one').look()
    await open('files/ten_1/one').removeBelow('files/ten_1')
    await expect(open('files/ten_1/one').look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })

  test('a new store takes its first object while the database names none', async () => {
    const { another } = await places()
    let isNamed = false
    const some = async () => (isNamed ? ['files/ten_1/two'] : [])
    const store = guardedStore(another, { someObjects: some, clock: manualClock() })
    for (const use of uses(store, 'files/ten_1/one')) await use()
    await store.put('files/ten_1/two', flowing(content(10)))
    isNamed = true
    await store.look()
    await store.remove('files/ten_1/two')
  })

  test('a store that cannot be read is unavailable', async () => {
    const { store } = await places()
    const broken = { ...store, has: () => Promise.reject(new Error('EIO')) }
    const guarded = guardedStore(broken, { someObjects: async () => ['files/ten_1/one'], clock: manualClock() })
    for (const use of uses(guarded, 'files/ten_1/none')) await expect(use()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })
}
