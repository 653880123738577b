import { newId, problem } from '../../core/kit/index.ts'
import { type ChatStep, type ObservedSpace, planChat } from '../../core/spaces/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../db/index.ts'
import { administratorOf, type Chat } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { wantedMembers } from './members.repo.ts'
import { recordAligned } from './note-aligned.ts'
import { observeSpace } from './observe-space.ts'
import { removeRooms } from './remove-rooms.ts'
import { type SpaceRecord, spaceRecord } from './spaces.repo.ts'
import { inBatches, takeBatch } from './take-steps.ts'

/** Longer than any few questions to a chat server take. */
const leaseMs = 60_000
/**
 * What is not done by then goes on in a call of its own, so that other spaces of the tenant have their turn: who is in a room stays in it. Each
 * call takes something on, however slow the chat server is: whoever only looked would look for ever.
 */
const longestMs = 10_000
const lookEveryMs = 500

/** `unfinished`: it went well so far, and wants to be called again. */
type Aligned = 'done' | 'unfinished'

/** `mayWait`: for somebody else who is at the same space, such as the answer that made it. */
type How = Readonly<{ mayWait?: boolean; signal?: AbortSignal | undefined }>

/**
 * Brings the chat to what the database says of a space. One at a time for each space: another who makes a room just now must not have it taken
 * for a ruin. Throws HOMESERVER_UNREACHABLE, UNAVAILABLE (somebody is at it).
 */
export async function alignSpace(deps: SpacesDeps, spaceId: string, how: How = {}): Promise<Aligned> {
  const { clock } = deps
  const lease = await leaseOf(deps, spaceId, how)
  const began = clock.monotonicMs()
  const isLate = () => clock.monotonicMs() - began > longestMs
  const isStopped = () => how.signal?.aborted === true
  try {
    return await alignUntil(deps, lease, { spaceId, isLate, isStopped })
  } finally {
    await releaseLease(deps, lease)
  }
}

async function leaseOf(deps: SpacesDeps, spaceId: string, { mayWait = false, signal }: How): Promise<Lease> {
  const { clock, random } = deps
  const wanted = { name: `space:${spaceId}`, owner: newId(random, 'align'), ttlMs: leaseMs }
  const began = clock.monotonicMs()
  for (;;) {
    const lease = await acquireLease(deps, wanted)
    if (lease) return lease
    if (!mayWait || signal?.aborted || clock.monotonicMs() - began > leaseMs)
      throw problem('UNAVAILABLE', `${spaceId} is being brought to the chat by somebody else just now`)
    await clock.sleep(lookEveryMs, signal)
  }
}

type Turn = Readonly<{ spaceId: string; isLate: () => boolean; isStopped: () => boolean }>

async function alignUntil(deps: SpacesDeps, lease: Lease, { spaceId, isLate, isStopped }: Turn): Promise<Aligned> {
  const { db } = deps
  const refused = new Set<string>()
  while (!isStopped()) {
    const space = await spaceRecord(db, spaceId)
    if (!space) return 'done'
    const chat = await chatOf(deps, space)
    const seen = space.deletedAt === null ? await observeSpace(deps, chat, space) : await removeRooms(deps, chat, space)
    const steps = space.deletedAt === null ? await plan(deps, { space, seen, chat, refused }) : []
    if (steps.length === 0 && (await recordAligned(deps, space, seen))) return 'done'
    for (const batch of inBatches(steps)) {
      if (isStopped()) return 'unfinished'
      await renew(deps, lease)
      const notTaken = await takeBatch(deps, chat, space, batch)
      for (const step of notTaken) refused.add(JSON.stringify(step))
      // Only a call that is over knows whom it need not try again.
      if (isLate() && notTaken.length < batch.length) return 'unfinished'
    }
  }
  return 'unfinished'
}

async function chatOf({ db, homeservers }: SpacesDeps, { tenantId }: SpaceRecord): Promise<Chat> {
  const tenant = await db.selectFrom('tenants').select('chat_domain').where('id', '=', tenantId).executeTakeFirstOrThrow()
  return { homeserver: homeservers.of(tenantId), chatDomain: tenant.chat_domain }
}

type Planned = Readonly<{ space: SpaceRecord; seen: ObservedSpace; chat: Chat; refused: ReadonlySet<string> }>

async function plan({ db }: SpacesDeps, { space, seen, chat, refused }: Planned): Promise<ChatStep[]> {
  const wanted = { name: space.name, members: await wantedMembers(db, space.id) }
  return planChat(wanted, seen, new Set([administratorOf(chat)])).filter((step) => !refused.has(JSON.stringify(step)))
}

async function renew(deps: SpacesDeps, lease: Lease): Promise<void> {
  if (!(await renewLease(deps, lease, leaseMs))) throw problem('LEASE_LOST', `another process took over ${lease.name}`)
}
