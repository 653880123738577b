import type { Permission } from '../../core/modules/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { DeadLetterTable, PositionTable, RunTable } from './module-runs.tables.ts'

// Reads and writes of the feature `module-services` in the tables of modules.

type Key = Readonly<{ tenantId: string; moduleId: string }>

/** An active installation and its position in the events of its tenant. `attempt`: failed attempts of the next event. */
export type ServiceInstallation = Key &
  Readonly<{
    version: string
    permissions: readonly Permission[]
    generation: number
    seq: number
    attempt: number
    failingSince: string | null
  }>

export async function findServiceInstallation(db: DbOrTx, { tenantId, moduleId }: Key): Promise<ServiceInstallation | undefined> {
  const row = await db
    .selectFrom('module_installations as one')
    .innerJoin('module_positions as position', (join) =>
      join.onRef('position.tenant_id', '=', 'one.tenant_id').onRef('position.module_id', '=', 'one.module_id'),
    )
    .select(['one.version', 'one.permissions', 'one.generation', 'position.seq', 'position.attempt', 'position.failing_since'])
    .where('one.tenant_id', '=', tenantId)
    .where('one.module_id', '=', moduleId)
    .where('one.status', '=', 'active')
    .where('one.paused', '=', 0)
    .executeTakeFirst()
  if (!row) return undefined
  const permissions = JSON.parse(row.permissions) as Permission[]
  const { version, generation, attempt, failing_since: failingSince } = row
  return { tenantId, moduleId, version, permissions, generation, seq: Number(row.seq), attempt, failingSince }
}

/** Locks the installation. Returns false if it changed since it was read. */
export async function lockUnchanged(tx: Tx, { tenantId, moduleId, generation }: Key & Readonly<{ generation: number }>): Promise<boolean> {
  const own = tx.selectFrom('module_installations').select('generation').where('tenant_id', '=', tenantId).where('module_id', '=', moduleId)
  const row = await own.modifyEnd(forUpdate(tx)).executeTakeFirst()
  return row?.generation === generation
}

const delivered = { attempt: 0, next_at: null, delivery_id: null, failing_since: null, error: null } as const

/** Returns false if the position is no longer at `from`. */
async function updatePosition(tx: Tx, { tenantId, moduleId }: Key, from: number, set: Partial<PositionTable>): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('module_positions')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('module_id', '=', moduleId)
    .where('seq', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

type Move = Readonly<{ from: number; to: number }>

export const passEvents = (tx: Tx, key: Key, { from, to }: Move): Promise<boolean> =>
  updatePosition(tx, key, from, { ...delivered, seq: to })

/** As `passEvents`, and counts what was left out. */
export async function skipEvents(tx: Tx, key: Key, { from, to, at }: Move & Readonly<{ at: string }>): Promise<boolean> {
  if (!(await updatePosition(tx, key, from, { ...delivered, seq: to, skipped_at: at }))) return false
  await tx
    .updateTable('module_positions')
    .set((eb) => ({ skipped: eb('skipped', '+', to - from) }))
    .where('tenant_id', '=', key.tenantId)
    .where('module_id', '=', key.moduleId)
    .execute()
  return true
}

type Failed = Readonly<{ from: number; attempt: number; nextAt: string; deliveryId: string; failingSince: string; error: string }>

export const storeFailedAttempt = (
  tx: Tx,
  key: Key,
  { from, attempt, nextAt, deliveryId, failingSince, error }: Failed,
): Promise<boolean> =>
  updatePosition(tx, key, from, {
    attempt,
    next_at: nextAt,
    delivery_id: deliveryId,
    failing_since: failingSince,
    error: error.slice(0, 1000),
  })

export async function insertDeadLetter(tx: Tx, letter: DeadLetterTable): Promise<void> {
  await tx
    .insertInto('module_dead_letters')
    .values(letter)
    .onConflict((c) => c.doNothing())
    .execute()
}

/** A delivery to a service is listed among the runs of its module. */
export async function insertServiceRun(tx: Tx, run: RunTable): Promise<void> {
  await tx.insertInto('module_runs').values(run).execute()
}

export async function setRemote(tx: Tx, { tenantId, moduleId }: Key, remote: 'pending' | 'confirmed'): Promise<void> {
  await tx.updateTable('module_installations').set({ remote }).where('tenant_id', '=', tenantId).where('module_id', '=', moduleId).execute()
}
