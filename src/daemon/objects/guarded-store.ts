import type { Clock } from '../../core/kit/index.ts'
import { lostKey, type ObjectStore, type PlainStore, storeFailure } from './object-store.ts'

export type Guard = Readonly<{
  /** Keys of some objects that the database names, the same ones as long as it does; none if it names none. */
  someObjects(): Promise<readonly string[]>
  clock: Pick<Clock, 'monotonicMs'>
}>

/**
 * A store that has none of the objects that the database names is another one, or its disk is away: nothing is stored, removed or taken for
 * missing there. Otherwise an erasure would delete rows and leave their bytes in the true store.
 */
export function guardedStore(store: PlainStore, { someObjects, clock }: Guard): ObjectStore {
  let foundAt: number | undefined
  let checking: Promise<void> | undefined
  let witness: string | undefined

  async function isFound(keys: readonly string[]): Promise<boolean> {
    if (witness !== undefined && (await store.has(witness))) return true
    witness = await first(keys, store.has)
    return witness !== undefined || (await first(keys, store.remembers)) !== undefined || store.has(lostKey)
  }
  async function check(): Promise<void> {
    const at = clock.monotonicMs()
    try {
      const keys = await someObjects()
      if (keys.length === 0) return
      if (await isFound(keys)) foundAt = at
      else if ((await someObjects()).some((key) => keys.includes(key)))
        // others were removed meanwhile
        throw new Error(`${store.name} has none of the objects that the database names. fix: ${store.fix}`)
    } catch (error) {
      throw storeFailure(error)
    }
  }
  async function assertPresent(): Promise<void> {
    if (foundAt !== undefined && clock.monotonicMs() - foundAt < store.trustMs) return
    checking ??= check().finally(() => {
      checking = undefined
    })
    await checking
  }
  return {
    async put(key, content) {
      await assertPresent()
      return store.put(key, content)
    },
    async get(key, stretch) {
      const content = await store.get(key, stretch)
      if (content === undefined) await assertPresent()
      return content
    },
    async remove(key) {
      await assertPresent()
      // A removal that was killed is repeated, maybe after that of the last object.
      await store.remember(key)
      await store.remove(key)
    },
    async removeBelow(folder) {
      await assertPresent()
      await store.removeBelow(folder)
    },
    async look() {
      await assertPresent()
      await store.look()
    },
  }
}

async function first(keys: readonly string[], holds: (key: string) => Promise<boolean>): Promise<string | undefined> {
  for (const key of keys) if (await holds(key)) return key
  return undefined
}
