import type { Selectable } from 'kysely'
import type { HostId } from '../../core/boxes/index.ts'
import {
  type AgentPublicKey,
  type EngineInfo,
  type HostResources,
  type Instances,
  isHostId,
  type KeyReplacement,
} from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type DbOrTx, forNoKeyUpdate, type Tx } from '../db/index.ts'
import type { HostTable } from './hosts.tables.ts'

export type Host = Readonly<{
  id: HostId
  name: string
  status: 'active' | 'frozen' | 'revoked'
  reason: string | null
  keyId: string
  publicKey: AgentPublicKey
  keySince: string
  /** Announced but not used yet. */
  nextKey: Readonly<{ id: string; publicKey: AgentPublicKey; announcedAt: string }> | null
  instances: Instances
  enrolledAt: string
  lastSeenAt: string | null
  agentVersion: string | null
  protocolVersion: number | null
  engine: EngineInfo | null
  resources: HostResources | null
  resourcesAt: string | null
  clockOffsetMs: number | null
}>

const json = <Value>(text: string | null): Value | null => (text === null ? null : JSON.parse(text))

const hostOf = (row: Selectable<HostTable>): Host => ({
  id: row.id as HostId,
  name: row.name,
  status: row.status,
  reason: row.reason,
  keyId: row.key_id,
  publicKey: JSON.parse(row.public_key),
  keySince: row.key_since ?? row.enrolled_at,
  nextKey:
    row.next_key_id && row.next_public_key && row.next_key_at
      ? { id: row.next_key_id, publicKey: JSON.parse(row.next_public_key), announcedAt: row.next_key_at }
      : null,
  instances: { current: row.instance_id, retired: JSON.parse(row.retired_instances) },
  enrolledAt: row.enrolled_at,
  lastSeenAt: row.last_seen_at,
  agentVersion: row.agent_version,
  protocolVersion: row.protocol_version,
  engine: json(row.engine),
  resources: json(row.resources),
  resourcesAt: row.resources_at,
  clockOffsetMs: row.clock_offset_ms === null ? null : Number(row.clock_offset_ms),
})

async function hostBy(db: DbOrTx, column: 'id' | 'name', value: string): Promise<Host | undefined> {
  const row = await db.selectFrom('hosts').selectAll().where(column, '=', value).executeTakeFirst()
  return row && hostOf(row)
}

export const findHostByName = (db: DbOrTx, name: string) => hostBy(db, 'name', name)

/** The host with this key, current or announced. */
export async function findHostByKeyId(db: DbOrTx, keyId: string): Promise<Host | undefined> {
  const row = await db
    .selectFrom('hosts')
    .selectAll()
    .where((either) => either.or([either('key_id', '=', keyId), either('next_key_id', '=', keyId)]))
    .executeTakeFirst()
  return row && hostOf(row)
}

/** Throws NOT_FOUND. */
export async function hostById(db: DbOrTx, id: string): Promise<Host> {
  const host = await hostBy(db, 'id', id)
  if (!host) throw problem('NOT_FOUND', `Host with id ${id} does not exist.`)
  return host
}

/** Throws NOT_FOUND. */
export async function hostByName(db: DbOrTx, name: string): Promise<Host> {
  const host = await hostBy(db, 'name', name)
  if (!host) throw problem('NOT_FOUND', `Host ${name} does not exist. fix: tenantry hosts list`)
  return host
}

/** By name or id. Throws NOT_FOUND. */
export const hostByKey = (db: DbOrTx, key: string): Promise<Host> => (isHostId(key) ? hostById(db, key) : hostByName(db, key))

export async function allHosts(db: DbOrTx): Promise<Host[]> {
  return (await db.selectFrom('hosts').selectAll().orderBy('name').execute()).map(hostOf)
}

/**
 * Must be the first statement of a transaction that leases or requeues commands of the host. Queuing a command does not take this lock, to
 * avoid a deadlock. Throws NOT_FOUND.
 */
export async function lockHost(tx: Tx, id: string): Promise<Host> {
  const row = await tx.selectFrom('hosts').selectAll().where('id', '=', id).modifyEnd(forNoKeyUpdate(tx)).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `Host with id ${id} does not exist.`)
  return hostOf(row)
}

const noNextKey = { next_key_id: null, next_public_key: null, next_key_at: null } as const

export type Enrolment = Readonly<{ id: string; name: string; keyId: string; publicKey: AgentPublicKey; agentVersion: string; at: string }>

/** Inserts a host, or activates a revoked or frozen one under a new key; its id and boxes stay. The keys of its earlier enrolment stay known as former keys. */
export async function saveEnrolment(tx: Tx, { id, name, keyId, publicKey, agentVersion, at }: Enrolment): Promise<void> {
  await retireKeys(tx, id, at)
  const fresh = {
    status: 'active',
    reason: null,
    key_id: keyId,
    public_key: JSON.stringify(publicKey),
    key_since: at,
    ...noNextKey,
    instance_id: null,
    retired_instances: '[]',
    enrolled_at: at,
    last_seen_at: null,
    agent_version: agentVersion,
  } as const
  await tx
    .insertInto('hosts')
    .values({ id, name, protocol_version: null, engine: null, resources: null, resources_at: null, clock_offset_ms: null, ...fresh })
    .onConflict((c) => c.column('name').doUpdateSet(fresh))
    .execute()
}

/** Makes the current and the announced key former ones. No instance replaced them, so a call by one proves no copy of the present key. */
async function retireKeys(tx: Tx, hostId: string, at: string): Promise<void> {
  await tx.updateTable('host_former_keys').set({ replaced_by: null }).where('host_id', '=', hostId).execute()
  const host = await hostBy(tx, 'id', hostId)
  if (!host) return
  const keys = [{ id: host.keyId, publicKey: host.publicKey }, ...(host.nextKey ? [host.nextKey] : [])]
  const rows = keys.map((key) => ({ key_id: key.id, public_key: JSON.stringify(key.publicKey) }))
  await tx
    .insertInto('host_former_keys')
    .values(rows.map((row) => ({ ...row, host_id: hostId, replaced_at: at, replaced_by: null })))
    .execute()
}

/** Returns false if the host was already blocked. */
export async function setHostBlocked(
  tx: Tx,
  id: string,
  { status, reason }: Readonly<{ status: 'frozen' | 'revoked'; reason: string }>,
): Promise<boolean> {
  const from = status === 'revoked' ? (['active', 'frozen'] as const) : (['active'] as const)
  const done = await tx.updateTable('hosts').set({ status, reason }).where('id', '=', id).where('status', 'in', from).executeTakeFirst()
  return done.numUpdatedRows > 0n
}

export type HelloRow = Readonly<{
  instances: Instances
  agentVersion: string
  protocolVersion: number
  engine: EngineInfo | null
  at: string
}>

export async function saveHello(tx: Tx, id: string, greeting: HelloRow): Promise<void> {
  await tx
    .updateTable('hosts')
    .set({
      instance_id: greeting.instances.current,
      retired_instances: JSON.stringify(greeting.instances.retired),
      agent_version: greeting.agentVersion,
      protocol_version: greeting.protocolVersion,
      engine: greeting.engine && JSON.stringify(greeting.engine),
      last_seen_at: greeting.at,
    })
    .where('id', '=', id)
    .execute()
}

/** Values the agent could not determine keep their last state. */
export async function saveMachine(
  db: DbOrTx,
  id: string,
  { resources, clockOffsetMs, at }: { resources?: HostResources | null | undefined; clockOffsetMs?: number | null | undefined; at: string },
): Promise<void> {
  const values = {
    ...(resources ? { resources: JSON.stringify(resources), resources_at: at } : {}),
    ...(clockOffsetMs === undefined ? {} : { clock_offset_ms: clockOffsetMs === null ? null : Math.round(clockOffsetMs) }),
  }
  if (Object.keys(values).length > 0) await db.updateTable('hosts').set(values).where('id', '=', id).execute()
}

/** Returns false if the key was replaced concurrently. */
export async function announceKey(tx: Tx, host: Host, next: NonNullable<Host['nextKey']>): Promise<boolean> {
  const done = await tx
    .updateTable('hosts')
    .set({ next_key_id: next.id, next_public_key: JSON.stringify(next.publicKey), next_key_at: next.announcedAt })
    .where('id', '=', host.id)
    .where('key_id', '=', host.keyId)
    .executeTakeFirst()
  return done.numUpdatedRows > 0n
}

/** Makes the announced key current and the former one a former key. Returns false if another call did it first. */
export async function promoteKey(
  tx: Tx,
  { host, next }: Readonly<{ host: Host; next: NonNullable<Host['nextKey']> }>,
  { at, by }: KeyReplacement,
): Promise<boolean> {
  const done = await tx
    .updateTable('hosts')
    .set({ key_id: next.id, public_key: JSON.stringify(next.publicKey), key_since: at, ...noNextKey })
    .where('id', '=', host.id)
    .where('key_id', '=', host.keyId)
    .where('next_key_id', '=', next.id)
    .executeTakeFirst()
  if (done.numUpdatedRows === 0n) return false
  const former = { key_id: host.keyId, host_id: host.id, public_key: JSON.stringify(host.publicKey) }
  await tx
    .insertInto('host_former_keys')
    .values({ ...former, replaced_at: at, replaced_by: by })
    .execute()
  return true
}

/** `isObsolete`: replaced by a new enrolment of the host. */
export type FormerKey = Readonly<{ hostId: HostId; publicKey: AgentPublicKey; replaced: KeyReplacement; isObsolete: boolean }>

/** A replaced key. All are retained: a thief could rotate until an older one is forgotten. */
export async function findFormerKey(db: DbOrTx, keyId: string): Promise<FormerKey | undefined> {
  const row = await db.selectFrom('host_former_keys').selectAll().where('key_id', '=', keyId).executeTakeFirst()
  return (
    row && {
      hostId: row.host_id as HostId,
      publicKey: JSON.parse(row.public_key),
      replaced: { at: row.replaced_at, by: row.replaced_by },
      isObsolete: row.replaced_by === null,
    }
  )
}

/** Ends every invitation of the name, used or not. Before any change of the host itself, the order in which an enrolment locks both. */
export async function deleteInvites(tx: Tx, name: string): Promise<void> {
  await tx.deleteFrom('host_invites').where('host_name', '=', name).execute()
}

export async function countActiveHosts(db: DbOrTx): Promise<number> {
  const { count } = await db
    .selectFrom('hosts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('status', '=', 'active')
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function markSeen(db: DbOrTx, ids: readonly string[], at: string): Promise<void> {
  for (let from = 0; from < ids.length; from += idsPerStatement)
    await db
      .updateTable('hosts')
      .set({ last_seen_at: at })
      .where('id', 'in', ids.slice(from, from + idsPerStatement))
      .execute()
}

const idsPerStatement = 500

/** The fields needed to list a whole fleet. */
export type HostSummary = Pick<Host, 'id' | 'name' | 'status' | 'lastSeenAt'>

const summaryOf = (row: Pick<HostTable, 'id' | 'name' | 'status' | 'last_seen_at'>): HostSummary => ({
  id: row.id as HostId,
  name: row.name,
  status: row.status,
  lastSeenAt: row.last_seen_at,
})

/** All hosts, or the one given. */
export async function hostSummaries(db: DbOrTx, id?: HostId): Promise<HostSummary[]> {
  let query = db.selectFrom('hosts').select(['id', 'name', 'status', 'last_seen_at']).orderBy('name')
  if (id !== undefined) query = query.where('id', '=', id)
  return (await query.execute()).map(summaryOf)
}

/** The state a long poll reads: whether the host is blocked, and whether it may have work. */
export async function pollState(db: DbOrTx, id: string): Promise<Pick<Host, 'name' | 'status' | 'reason'> & { hasWork: boolean }> {
  const { work, ...host } = await db
    .selectFrom('hosts')
    .select(['name', 'status', 'reason'])
    .select((host) =>
      host
        .selectFrom('commands')
        .select('commands.id')
        .whereRef('commands.host_id', '=', 'hosts.id')
        .where('commands.status', 'in', ['queued', 'leased'])
        .limit(1)
        .as('work'),
    )
    .where('hosts.id', '=', id)
    .executeTakeFirstOrThrow()
  return { ...host, hasWork: work !== null }
}
