import { newId, problem } from '../../core/kit/index.ts'
import { type ChatStep, planChat, type SeenSpace } from '../../core/spaces/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../db/index.ts'
import { administratorOf, type Chat, createRoom, joinRoom, kickFrom, linkRooms, renameRoom } from './chat-rooms.ts'
import { hasLeftInChat } from './left-in-chat.ts'
import { noteSeen, wantedMembers } from './members.repo.ts'
import type { SpacesNeeds } from './needs.ts'
import { observeSpace } from './observe-space.ts'
import { removeRooms } from './remove-rooms.ts'
import { noteChat, type SpaceRecord, spaceRecord } from './spaces.repo.ts'

/** Longer than any one question to a chat server takes. */
const leaseMs = 60_000
/** What is not done by then goes on in a call of its own: follow-up work has its own end. */
const longestMs = 40_000

/** `unfinished`: it went well so far, and wants to be called again. */
type Aligned = 'done' | 'unfinished'

/**
 * Brings the chat to what the database says of a space. One at a time for each space: another who makes a room just now must not have it taken
 * for a ruin. Throws HOMESERVER_UNREACHABLE, UNAVAILABLE (somebody is at it).
 */
export async function alignSpace(needs: SpacesNeeds, spaceId: string): Promise<Aligned> {
  const { clock, random } = needs
  const wanted = { name: `space:${spaceId}`, holder: newId(random, 'align'), ttlMs: leaseMs }
  const lease = await acquireLease(needs, wanted)
  if (!lease) throw problem('UNAVAILABLE', `${spaceId} is being brought to the chat by somebody else just now`)
  const began = clock.monotonicMs()
  try {
    return await alignUntil(needs, lease, { spaceId, isLate: () => clock.monotonicMs() - began > longestMs })
  } finally {
    await releaseLease(needs, lease)
  }
}

type Turn = Readonly<{ spaceId: string; isLate: () => boolean }>

async function alignUntil(needs: SpacesNeeds, lease: Lease, { spaceId, isLate }: Turn): Promise<Aligned> {
  const { db } = needs
  const refused = new Set<string>()
  while (!isLate()) {
    const space = await spaceRecord(db, spaceId)
    if (!space) return 'done'
    const chat = await chatOf(needs, space)
    const seen = space.deletedAt === null ? await observeSpace(needs, chat, space) : await removeRooms(needs, chat, space)
    const steps = space.deletedAt === null ? await plan(needs, { space, seen, chat, refused }) : []
    if (steps.length === 0 && (await isStill(needs, space, seen))) return 'done'
    for (const step of steps) {
      if (isLate()) return 'unfinished'
      await renew(needs, lease)
      if (!(await take(needs, chat, { space, step }))) refuse(needs, refused, space, step)
    }
  }
  return 'unfinished'
}

async function chatOf({ db, homeservers }: SpacesNeeds, { tenantId }: SpaceRecord): Promise<Chat> {
  const tenant = await db.selectFrom('tenants').select('chat_domain').where('id', '=', tenantId).executeTakeFirstOrThrow()
  return { homeserver: homeservers.of(tenantId), chatDomain: tenant.chat_domain }
}

type Planned = Readonly<{ space: SpaceRecord; seen: SeenSpace; chat: Chat; refused: ReadonlySet<string> }>

async function plan({ db }: SpacesNeeds, { space, seen, chat, refused }: Planned): Promise<ChatStep[]> {
  const wanted = { name: space.name, members: await wantedMembers(db, space.id) }
  return planChat(wanted, seen, new Set([administratorOf(chat)])).filter((step) => !refused.has(JSON.stringify(step)))
}

/** Notes that the chat is as the space was when it was read; false when it has changed since. */
async function isStill({ db }: SpacesNeeds, { id, revision }: SpaceRecord, { space, room }: SeenSpace): Promise<boolean> {
  await noteChat(db, id, { spaceRoomId: space?.id ?? null, roomId: room?.id ?? null, chatRevision: revision })
  return (await spaceRecord(db, id))?.revision === revision
}

async function renew(needs: SpacesNeeds, lease: Lease): Promise<void> {
  if (!(await renewLease(needs, lease, leaseMs))) throw problem('LEASE_LOST', `another process took over ${lease.name}`)
}

type Taken = Readonly<{ space: SpaceRecord; step: ChatStep }>

/** False when the chat server refuses it for good. */
async function take(needs: SpacesNeeds, chat: Chat, { space, step }: Taken): Promise<boolean> {
  const { id: spaceId, name } = space
  if (step.do === 'create') await createRoom(chat, { kind: step.kind, spaceId, name })
  if (step.do === 'link') await linkRooms(chat, step)
  if (step.do === 'rename') await renameRoom(chat, step.roomId, name)
  if (step.do === 'seen') await noteSeen(needs.db, { spaceId, userId: step.userId }, step.at)
  if (step.do === 'left') await hasLeftInChat(needs, { space, ...step })
  if (step.do === 'join') return joinRoom(chat, step)
  if (step.do === 'kick') return kickFrom(chat, step)
  return true
}

/** Of one user whom the chat server does not take the others must not suffer; the next reconcile tries again. */
function refuse({ log }: SpacesNeeds, refused: Set<string>, { id: spaceId }: SpaceRecord, step: ChatStep): void {
  refused.add(JSON.stringify(step))
  log.warn({ spaceId, step }, 'the chat server does not take a member of a space')
}
