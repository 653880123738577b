import { sql } from 'kysely'
import { expect } from 'vitest'
import { isProblem } from '../../src/core/kit/index.ts'
import { type Db, dialectOf } from '../../src/daemon/db/index.ts'

// Two transactions in a fixed order: one stops at a gate, the other runs as far as possible.

/** `pass()` waits there until `open()`; `reached` resolves when a caller arrives. */
export function aGate() {
  const [reached, come] = promised()
  const [opened, open] = promised()
  const pass = async () => {
    come()
    await opened
  }
  return { reached, open, pass }
}

function promised(): [Promise<void>, () => void] {
  let keep: () => void = () => undefined
  const promise = new Promise<void>((resolve) => {
    keep = resolve
  })
  return [promise, keep]
}

/** A database whose transactions stop at the gate after all writes, before the commit. */
export function stoppedBeforeCommit(db: Db, { pass }: Pick<ReturnType<typeof aGate>, 'pass'>): Db {
  type Work = Parameters<ReturnType<Db['transaction']>['execute']>[0]
  const execute = (work: Work) =>
    db.transaction().execute(async (tx) => {
      const done = await work(tx)
      await pass()
      return done
    })
  return new Proxy(db, {
    get: (of, key) => {
      if (key === 'transaction') return () => ({ execute })
      const value = Reflect.get(of, key)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
}

/** Number of sessions of this PostgreSQL database that wait for a lock. */
export async function heldUp(db: Db): Promise<number> {
  const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return (await waiting.execute(db)).rows.length
}

/** Waits until the work is blocked by a lock, or is finished. SQLite has one writer, so there it is blocked from the start. */
export async function heldUpOrOver(db: Db, work: Promise<unknown>): Promise<void> {
  if (dialectOf(db) === 'sqlite') return
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  await expect.poll(async () => isOver || (await heldUp(db)) > 0, { interval: 10, timeout: 20_000 }).toBe(true)
}

/** The outcome: `done` or the problem code. */
export const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
