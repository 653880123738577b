import type { DbOrTx, Tx } from '../db/index.ts'

type Key = Readonly<{ tenantId: string; moduleId: string }>

/** Where the deliveries to an installation are. `attempt`: failed attempts of the next event. */
export type Position = Readonly<{ seq: number; attempt: number; failingSince: string | null }>

const rowOf = ({ tenantId, moduleId }: Key) => ({ tenant_id: tenantId, module_id: moduleId })

export async function findPosition(db: DbOrTx, { tenantId, moduleId }: Key): Promise<Position | undefined> {
  const query = db.selectFrom('module_positions').select(['seq', 'attempt', 'failing_since'])
  const row = await query.where('tenant_id', '=', tenantId).where('module_id', '=', moduleId).executeTakeFirst()
  return row && { seq: Number(row.seq), attempt: row.attempt, failingSince: row.failing_since }
}

type Move = Readonly<{ from: number; to: number }>
const settled = { attempt: 0, next_at: null, delivery_id: null, failing_since: null, error: null } as const

/** Moves a position past events. Returns false if it is no longer at `from`: another replica delivered them. */
export async function movePosition(tx: DbOrTx, key: Key, { from, to }: Move): Promise<boolean> {
  const { tenant_id, module_id } = rowOf(key)
  const { numUpdatedRows } = await tx
    .updateTable('module_positions')
    .set({ ...settled, seq: to })
    .where('tenant_id', '=', tenant_id)
    .where('module_id', '=', module_id)
    .where('seq', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

type Failure = Readonly<{ from: number; attempt: number; nextAt: string; deliveryId: string; failingSince: string; error: string }>

/** Stores a failed attempt. Returns false if another replica moved the position or stored this attempt. */
export async function failDelivery(tx: Tx, key: Key, failure: Failure): Promise<boolean> {
  const { tenant_id, module_id } = rowOf(key)
  const { from, attempt, nextAt, deliveryId, failingSince, error } = failure
  const { numUpdatedRows } = await tx
    .updateTable('module_positions')
    .set({ attempt, next_at: nextAt, delivery_id: deliveryId, failing_since: failingSince, error: error.slice(0, 1000) })
    .where('tenant_id', '=', tenant_id)
    .where('module_id', '=', module_id)
    .where('seq', '=', from)
    .where('attempt', '=', attempt - 1)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Moves a position that is too far behind, and counts the events that are left out. */
export async function skipTo(tx: Tx, key: Key, { from, to, at }: Move & Readonly<{ at: string }>): Promise<boolean> {
  const { tenant_id, module_id } = rowOf(key)
  const { numUpdatedRows } = await tx
    .updateTable('module_positions')
    .set((eb) => ({ ...settled, seq: to, skipped: eb('skipped', '+', to - from), skipped_at: at }))
    .where('tenant_id', '=', tenant_id)
    .where('module_id', '=', module_id)
    .where('seq', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
