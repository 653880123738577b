import type { KyselyPlugin } from 'kysely'
import type { Db } from '../../src/daemon/db/index.ts'

/** The daemon was killed: the caller gets no response. */
export class Died extends Error {}

/**
 * A database whose client is killed at its n-th transaction, once: before the commit, so that no write happened, or right after it, so that
 * all writes happened and the caller has no response.
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
  return { db: withTransaction(db, transaction), died: () => died }
}

/** A database that runs a hook right before the n-th transaction. */
export function interrupted(db: Db, nth: number, happens: () => Promise<unknown>): Db {
  let count = 0
  const transaction = () => ({
    execute: async (work: (tx: unknown) => Promise<unknown>) => {
      count += 1
      if (count === nth) await happens()
      return db.transaction().execute(work as never)
    },
  })
  return withTransaction(db, transaction)
}

/**
 * A database whose client is killed after n steps: before a statement, between the last one and the commit, or right after the commit.
 * Later statements have no effect; an open transaction is rolled back, as after a broken connection.
 */
export function mortal(db: Db, steps: number): { db: Db; isDead: () => boolean } {
  let left = steps
  const step = () => {
    if (left <= 0) throw new Died('killed')
    left -= 1
  }
  const built = new WeakSet<object>()
  const counting: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      built.add(queryId)
      step()
      return node
    },
    // A statement of plain text is counted after it ran.
    transformResult: async ({ result, queryId }) => {
      if (!built.has(queryId)) step()
      return result
    },
  }
  const counted = db.withPlugin(counting)
  const transaction = () => ({
    execute: async (work: (tx: unknown) => Promise<unknown>) => {
      const done = await counted.transaction().execute(async (tx) => {
        const answer = await work(tx)
        step()
        return answer
      })
      step()
      return done
    },
  })
  return { db: withTransaction(counted, transaction), isDead: () => left <= 0 }
}

export const withTransaction = (db: Db, transaction: () => unknown): Db =>
  new Proxy(db, {
    get: (target, name) => {
      if (name === 'transaction') return transaction
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
