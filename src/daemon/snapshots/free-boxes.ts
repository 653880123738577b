import { type BoxId, isReadOnly } from '../../core/boxes/index.ts'
import type { TenantId } from '../../core/kit/index.ts'
import { type BoxRecord, boxById, boxesInScope, holdsOf, readFleet } from '../boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'

type Deps = Pick<SnapshotsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs'>

/** The live boxes by tenant, and whether scheduled tasks may run on them. */
export type Availability = Readonly<{
  boxOf(tenantId: string): BoxRecord | undefined
  /** The box has no hold and no open command. */
  isFree(box: BoxRecord): boolean
  isReachable(box: BoxRecord): boolean
  /** Hosts with a running snapshot, drill or maintenance. */
  busyHosts: ReadonlySet<string>
}>

export async function readAvailability(deps: Deps, db: DbOrTx): Promise<Availability> {
  const fleet = await readFleet(deps, db)
  const holds = await holdsOf(db, deps.clock)
  const open = (await openCommands(db).execute()).filter(({ kind }) => !isReadOnly(kind))
  const busyBoxes = new Set(open.map(({ box_id }) => box_id))
  const byTenant = new Map((await boxesInScope(db)).map((box) => [box.tenantId, box]))
  return {
    boxOf: (tenantId) => byTenant.get(tenantId as TenantId),
    isFree: ({ id }) => !holds.has(id) && !busyBoxes.has(id),
    isReachable: ({ hostId }) => fleet.host(hostId)?.status === 'online',
    busyHosts: new Set(open.filter(({ kind }) => exclusiveKinds.includes(kind)).map(({ host_id }) => host_id)),
  }
}

/** The live box of one tenant. */
export async function liveBoxOf(db: DbOrTx, tenantId: string): Promise<BoxRecord | undefined> {
  const row = await db.selectFrom('boxes').select('id').where('tenant_id', '=', tenantId).where('live', '=', 1).executeTakeFirst()
  return row && boxById(db, row.id as BoxId)
}

/** True if one box has no hold and no open command; also for the transaction that starts a task. */
export async function isFreeNow({ clock }: Pick<Deps, 'clock'>, db: DbOrTx, { id }: BoxRecord): Promise<boolean> {
  if ((await holdsOf(db, clock, [id])).has(id)) return false
  return (await openCommands(db).where('box_id', '=', id).execute()).every(({ kind }) => isReadOnly(kind))
}

const exclusiveKinds: readonly string[] = ['tenant-box.snapshot', 'tenant-box.drill', 'tenant-box.tend_snapshots']

const openCommands = (db: DbOrTx) =>
  db.selectFrom('commands').select(['box_id', 'host_id', 'kind']).where('status', 'in', ['queued', 'leased', 'running'])
