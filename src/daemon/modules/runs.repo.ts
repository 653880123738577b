import type { Insertable } from 'kysely'
import { printable } from '../../core/kit/index.ts'
import type { RunResult } from '../../core/modules/index.ts'
import { type DbOrTx, inBatches, type Tx } from '../db/index.ts'
import type { DeadLetterTable, RunTable } from './module-runs.tables.ts'

/** A run as it is stored. `depth`: how many runs led to it by their events; `cause`: what it was started by. */
export type NewRun = Readonly<{
  id: string
  tenantId: string
  moduleId: string
  version: string
  generation: number
  kind: RunTable['kind']
  eventType: string | null
  cause: string | null
  depth: number
  deliveryId: string | null
  attempt: number
  status: RunTable['status']
  result: Pick<RunResult, 'ms' | 'interpreterMs' | 'violations' | 'log'>
  error: string | null
  createdAt: string
}>

export async function insertRun(tx: DbOrTx, { result, ...run }: NewRun): Promise<void> {
  const row: Insertable<RunTable> = {
    ...{ id: run.id, tenant_id: run.tenantId, module_id: run.moduleId, version: run.version, generation: run.generation, kind: run.kind },
    ...{ event_type: run.eventType, cause: run.cause, depth: run.depth, delivery_id: run.deliveryId, attempt: run.attempt },
    ...{ status: run.status, ms: Math.round(result.ms), interpreter_ms: Math.round(result.interpreterMs) },
    ...{ violations: JSON.stringify(result.violations.slice(0, 20)), error: run.error && printable(run.error.slice(0, 1000)) },
    ...{ log: JSON.stringify(result.log), created_at: run.createdAt },
  }
  await tx.insertInto('module_runs').values(row).execute()
}

type Key = Readonly<{ tenantId: string; moduleId: string }>

/** Deletes runs that were done without the newest `kept` runs of the installation, and all without the newest `maxStored`. */
export async function trimRuns(db: DbOrTx, key: Key, { kept, maxStored }: Readonly<{ kept: number; maxStored: number }>): Promise<void> {
  await trimBeyond(db, key, { keep: kept, onlyDone: true })
  await trimBeyond(db, key, { keep: maxStored, onlyDone: false })
}

type Trim = Readonly<{ keep: number; onlyDone: boolean }>

async function trimBeyond(db: DbOrTx, { tenantId, moduleId }: Key, { keep, onlyDone }: Trim): Promise<void> {
  const own = db.selectFrom('module_runs').where('tenant_id', '=', tenantId).where('module_id', '=', moduleId)
  const newest = own.select(['created_at', 'id']).orderBy('created_at', 'desc').orderBy('id', 'desc')
  const last = await newest.offset(keep).limit(1).executeTakeFirst()
  if (!last) return
  const older = db
    .deleteFrom('module_runs')
    .where('tenant_id', '=', tenantId)
    .where('module_id', '=', moduleId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'id'), '<=', tuple(last.created_at, last.id)))
  await (onlyDone ? older.where('status', '=', 'done') : older).execute()
}

/** An event that a service did not take. */
export async function insertDeadLetter(tx: Tx, letter: DeadLetterTable): Promise<void> {
  await tx
    .insertInto('module_dead_letters')
    .values(letter)
    .onConflict((c) => c.doNothing())
    .execute()
}

export async function deleteRunsBefore(db: DbOrTx, at: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('module_runs').where('created_at', '<', at).executeTakeFirst()
  return Number(numDeletedRows)
}

type Count = Readonly<{ moduleId: string; version: string; minute: string; bucket: string; count: number }>

/** Adds to the counters of health. */
export async function addCounts(tx: Tx, counts: readonly Count[]): Promise<void> {
  const rows = counts.map(({ moduleId, ...rest }) => ({ ...rest, module_id: moduleId }))
  for (const some of inBatches(rows))
    await tx
      .insertInto('module_counters')
      .values(some)
      .onConflict((c) =>
        c
          .columns(['module_id', 'version', 'minute', 'bucket'])
          .doUpdateSet((eb) => ({ count: eb('module_counters.count', '+', eb.ref('excluded.count')) })),
      )
      .execute()
}

export async function deleteCountsBefore(db: DbOrTx, minute: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('module_counters').where('minute', '<', minute).executeTakeFirst()
  return Number(numDeletedRows)
}
