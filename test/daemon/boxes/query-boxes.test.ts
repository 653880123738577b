import type { KyselyPlugin } from 'kysely'
import { expect, test } from 'vitest'
import type { Clock } from '../../../src/core/kit/index.ts'
import { scanBoxes } from '../../../src/daemon/boxes/query-boxes.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { aBoxesWorld, anOperator, manyBoxes } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const fleet = 2000

/** Counts statements and the commands that each transaction queued. `turn` runs before each transaction, `row` after each statement about commands. */
function watched(db: Db, { turn = () => undefined, row = () => undefined }: { turn?: () => void; row?: () => void } = {}) {
  const said: string[] = []
  const perTurn: number[] = []
  const listening: KyselyPlugin = {
    transformQuery: ({ node }) => {
      said.push(node.kind)
      return node
    },
    transformResult: async ({ result }) => {
      if (said.at(-1) === 'InsertQueryNode' && result.rows.length > 0) {
        perTurn.push((perTurn.pop() ?? 0) + result.rows.length)
        row()
      }
      return result
    },
  }
  const listened = db.withPlugin(listening)
  const transaction = () => ({
    execute: (work: (tx: unknown) => Promise<unknown>) => {
      turn()
      perTurn.push(0)
      return listened.transaction().execute(work as never)
    },
  })
  const watchedDb = new Proxy(listened, {
    get: (target, name) => {
      if (name === 'transaction') return transaction
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { db: watchedDb, said, perTurn: () => perTurn.filter((queued) => queued > 1) } // the record of the scan is one row
}

onBothDialects('a read-only command for each box of a fleet', (fresh) => {
  const setUp = async () => {
    const room = await aBoxesWorld(await fresh())
    await manyBoxes(room, fleet)
    let ms = 0
    const clock: Clock = { ...room.clock, monotonicMs: () => ms }
    const pass = (more: number) => () => {
      ms += more
    }
    return { room: { ...room, clock }, pass }
  }

  test('runs few statements and yields to other writers after every 250', async () => {
    const { room } = await setUp()
    const { db, said, perTurn } = watched(room.db)
    const { commands, unreachable } = await scanBoxes({ ...room, db }, anOperator, {})
    expect([commands.length, new Set(commands.map(({ slug }) => slug)).size, unreachable.length]).toEqual([fleet, fleet, 0])
    expect(perTurn()).toEqual(Array(fleet / 250).fill(250))
    expect(said.length).toBeLessThan(fleet / 12)
  })

  test('with waits before each transaction, chunks grow with the wait: a reporting fleet does not delay it', async () => {
    const { room, pass } = await setUp()
    const { db, perTurn } = watched(room.db, { turn: pass(100), row: pass(1) })
    const { commands } = await scanBoxes({ ...room, db }, anOperator, {})
    expect(commands).toHaveLength(fleet)
    expect(perTurn().length).toBeLessThanOrEqual(3)
    expect(perTurn()[0]).toBe(250)
    expect(Math.max(...perTurn())).toBeLessThanOrEqual(2000)
  })
})
