import type { Clock } from '../../core/kit/index.ts'
import { type ObjectStore, type PlainStore, storeFailure } from './object-store.ts'

export type Guard = Readonly<{
  /** Whether the database names stored objects. */
  namesObjects(): Promise<boolean>
  clock: Pick<Clock, 'monotonicMs'>
}>

/**
 * A store that was never used although the database names objects is another one, or its disk is away: nothing is stored, removed or taken for
 * missing there. Otherwise an erasure would delete rows and leave their bytes in the true store.
 */
export function guardedStore(store: PlainStore, { namesObjects, clock }: Guard): ObjectStore {
  let foundAt: number | undefined
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    const at = clock.monotonicMs()
    try {
      if (await store.wasUsed()) foundAt = at
      else if (await namesObjects()) throw new Error(`${store.name} has no objects, but the database names some. fix: ${store.fix}`)
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
      await store.remove(key)
    },
    async look() {
      await assertPresent()
      await store.look()
    },
  }
}
