import type { Db } from '../../src/daemon/db/index.ts'

/** The daemon was killed: nobody hears an answer. */
class Died extends Error {}

/**
 * A database whose client is killed at its n-th transaction, once: before the commit, so that nothing of it happened, or right after it, so that
 * all of it did and nobody was told.
 */
export function dyingAt(db: Db, nth: number, when: 'before' | 'after'): { db: Db; died: () => boolean } {
  let count = 0
  let died = false
  const transaction = () => ({
    execute: async (work: (tx: unknown) => Promise<unknown>) => {
      count += 1
      if (count !== nth || died) return db.transaction().execute(work as never)
      died = true
      await db.transaction().execute(async (tx) => {
        await work(tx)
        if (when === 'before') throw new Died('killed before the commit')
      })
      throw new Died('killed after the commit')
    },
  })
  const dying = new Proxy(db, {
    get: (target, name) => {
      if (name === 'transaction') return transaction
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { db: dying, died: () => died }
}
