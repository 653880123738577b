import { newId, problem } from '../../core/kit/index.ts'
import { type ChatStep, type ObservedSpace, planChat } from '../../core/spaces/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { botOf } from '../homeserver/index.ts'
import { findersOf } from './activity.ts'
import { administratorOf, type Chat } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { desiredMembers } from './members.repo.ts'
import { observeSpace, removeRooms } from './observe-space.ts'
import { lockSpace, recordChatState, type SpaceRecord, spaceById } from './spaces.repo.ts'
import { batchesOf, runBatch } from './sync-steps.ts'

/** Longer than the requests between two renewals. */
const leaseMs = 60_000
/**
 * A run that takes longer is continued by another job, so that other spaces of the tenant get their share. Each run does at least one batch, so
 * slow servers make progress too.
 */
const maxRunMs = 10_000
const retryEveryMs = 500

/** `unfinished`: no error, but another run is needed. */
type SyncResult = 'done' | 'unfinished'

/** `mayWait`: wait for the lease of another process, such as the request that created the space. */
type SyncOptions = Readonly<{ mayWait?: boolean; signal?: AbortSignal | undefined }>

/**
 * Syncs the rooms of a space with the database, under a lease: a room that another process is creating must not be taken for an incomplete one.
 * Throws HOMESERVER_UNREACHABLE, UNAVAILABLE (lease held).
 */
export async function syncSpace(deps: SpacesDeps, spaceId: string, options: SyncOptions = {}): Promise<SyncResult> {
  const { clock } = deps
  const lease = await acquireSpaceLease(deps, spaceId, options)
  const began = clock.monotonicMs()
  const isOverdue = () => clock.monotonicMs() - began > maxRunMs
  const isStopped = () => options.signal?.aborted === true
  try {
    return await syncUntil(deps, lease, { spaceId, isOverdue, isStopped })
  } finally {
    await releaseLease(deps, lease)
  }
}

async function acquireSpaceLease(deps: SpacesDeps, spaceId: string, { mayWait = false, signal }: SyncOptions): Promise<Lease> {
  const { clock, random } = deps
  const requested = { name: `space:${spaceId}`, owner: newId(random, 'sync'), ttlMs: leaseMs }
  const began = clock.monotonicMs()
  for (;;) {
    const lease = await acquireLease(deps, requested)
    if (lease) return lease
    if (!mayWait || signal?.aborted || clock.monotonicMs() - began > leaseMs)
      throw problem('UNAVAILABLE', `Space ${spaceId} is being synced by another process`)
    await clock.sleep(retryEveryMs, signal)
  }
}

type SyncRun = Readonly<{ spaceId: string; isOverdue: () => boolean; isStopped: () => boolean }>

async function syncUntil(deps: SpacesDeps, lease: Lease, { spaceId, isOverdue, isStopped }: SyncRun): Promise<SyncResult> {
  const { db } = deps
  const refused = new Set<string>()
  while (!isStopped()) {
    const space = await spaceById(db, spaceId)
    if (!space) return 'done'
    const chat = await chatOf(deps, space)
    const observed = space.deletedAt === null ? await observeSpace(deps, chat, space) : await removeRooms(deps, chat, space)
    const steps = space.deletedAt === null ? await plan(deps, { space, observed, chat, refused }) : []
    if (steps.length === 0 && (await recordSynced(deps, space, observed))) return 'done'
    for (const batch of batchesOf(steps)) {
      if (isStopped()) return 'unfinished'
      await renew(deps, lease)
      const rejected = await runBatch(deps, { chat, space }, batch)
      for (const step of rejected) refused.add(JSON.stringify(step))
      // Refusals are remembered only within a run, so a batch of refusals does not end it.
      if (isOverdue() && rejected.length < batch.length) return 'unfinished'
    }
  }
  return 'unfinished'
}

async function chatOf({ db, homeservers }: SpacesDeps, { tenantId }: SpaceRecord): Promise<Chat> {
  const tenant = await db.selectFrom('tenants').select('chat_domain').where('id', '=', tenantId).executeTakeFirstOrThrow()
  return { homeserver: homeservers.of(tenantId), chatDomain: tenant.chat_domain }
}

type Planned = Readonly<{ space: SpaceRecord; observed: ObservedSpace; chat: Chat; refused: ReadonlySet<string> }>

async function plan({ db }: SpacesDeps, { space, observed, chat, refused }: Planned): Promise<ChatStep[]> {
  const desired = { name: space.name, members: await desiredMembers(db, space.id) }
  return planChat(desired, observed, new Set([administratorOf(chat), botOf(chat)])).filter((step) => !refused.has(JSON.stringify(step)))
}

async function renew(deps: SpacesDeps, lease: Lease): Promise<void> {
  if (!(await renewLease(deps, lease, leaseMs))) throw problem('LEASE_LOST', `Another process took over ${lease.name}`)
}

type RecordDeps = Pick<SpacesDeps, 'db' | 'clock'>

/**
 * Records that the chat has the revision that was synced; returns false if the space has changed since. Publishes `space.ready` when the rooms were
 * created, and again when they were recreated. This event is not part of the space's activity.
 */
async function recordSynced(deps: RecordDeps, space: SpaceRecord, observed: ObservedSpace): Promise<boolean> {
  const synced = { spaceRoomId: observed.space?.id ?? null, roomId: observed.room?.id ?? null, chatRevision: space.revision }
  const isKnown = space.chatRevision !== 0 && synced.spaceRoomId === space.spaceRoomId && synced.roomId === space.roomId
  if (space.deletedAt === null && !isKnown) return recordReady(deps, space, synced)
  await recordChatState(deps.db, space.id, synced)
  return (await spaceById(deps.db, space.id))?.revision === space.revision
}

const recordReady = ({ db, clock }: RecordDeps, space: SpaceRecord, synced: Parameters<typeof recordChatState>[2]): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const { id: spaceId, tenantId } = space
    await lockSpace(tx, { tenantId, spaceId })
    const now = await spaceById(tx, spaceId)
    if (now?.revision !== space.revision) return false
    await recordChatState(tx, spaceId, synced)
    if (now.chatRevision === 0)
      await recordEvent(tx, clock, { tenantId, type: 'space.ready', payload: { spaceId }, audience: findersOf(now) })
    return true
  })
