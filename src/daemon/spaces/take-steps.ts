import { isoNow } from '../../core/kit/index.ts'
import type { ChatStep } from '../../core/spaces/index.ts'
import { type Chat, createRoom, joinRoom, kickFrom, linkRooms, renameRoom } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { hasLeftInChat } from './left-in-chat.ts'
import { recordRefused, recordSeen } from './members.repo.ts'
import type { SpaceRecord } from './spaces.repo.ts'

/** The admin API takes one user at a time, so this many are asked for at once; who was seen is noted in one go. */
const together = { join: 4, kick: 4, recordJoined: 500 } as const
const mostOf = (what: ChatStep['do']): number => (what in together ? together[what as keyof typeof together] : 1)

/** Steps in their order, those of one kind that do not depend on each other beside each other. */
export function inBatches(steps: readonly ChatStep[]): ChatStep[][] {
  const batches: ChatStep[][] = []
  for (const step of steps) {
    const last = batches.at(-1)
    if (last && last[0]?.do === step.do && last.length < mostOf(step.do)) last.push(step)
    else batches.push([step])
  }
  return batches
}

/** Answers what the chat server refuses for good: of one user whom it does not take the others must not suffer. The next reconcile tries again. */
export async function takeBatch(deps: SpacesDeps, chat: Chat, space: SpaceRecord, batch: readonly ChatStep[]): Promise<ChatStep[]> {
  const seen = batch.filter((step) => step.do === 'recordJoined')
  if (seen.length > 0) await recordSeen(deps.db, space.id, seen)
  const taken = await Promise.allSettled(batch.map((step) => take(deps, chat, { space, step })))
  for (const one of taken) if (one.status === 'rejected') throw one.reason
  const refused = batch.filter((_, n) => (taken[n] as PromiseFulfilledResult<boolean>).value === false)
  for (const step of refused) await refuse(deps, space, step)
  return refused
}

type Taken = Readonly<{ space: SpaceRecord; step: ChatStep }>

/** False when the chat server refuses it for good. */
async function take(deps: SpacesDeps, chat: Chat, { space, step }: Taken): Promise<boolean> {
  const { id: spaceId, name } = space
  if (step.do === 'create') await createRoom(chat, { kind: step.kind, spaceId, name })
  if (step.do === 'link') await linkRooms(chat, step)
  if (step.do === 'rename') await renameRoom(chat, step.roomId, name)
  if (step.do === 'recordLeft') await hasLeftInChat(deps, { space, ...step })
  if (step.do === 'join') return joinRoom(chat, step)
  if (step.do === 'kick') return kickFrom(chat, step)
  return true
}

/** Who is refused is shown among the members, and said in the log when that is new. */
async function refuse({ db, clock, log }: SpacesDeps, { id: spaceId }: SpaceRecord, step: ChatStep): Promise<void> {
  const isNew = step.do !== 'join' || (await recordRefused(db, { spaceId, userId: step.userId }, isoNow(clock)))
  if (isNew) log.warn({ spaceId, step }, 'the chat server does not take a member of a space')
}
