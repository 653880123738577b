import { isoNow } from '../../core/kit/index.ts'
import type { ChatStep } from '../../core/spaces/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { type Chat, createRoom, joinRoom, kickFrom, linkRooms, renameRoom } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { endMembership } from './end-membership.ts'
import { recordJoinedInChat, recordRefused } from './members.repo.ts'
import { changeSpaceRow, lockSpace, type SpaceRecord } from './spaces.repo.ts'

/** Maximum batch sizes. The admin API takes one user per request, so joins and kicks run in parallel; joins are recorded in one transaction. */
const maxBatch = { join: 4, kick: 4, recordJoined: 500 } as const
const maxBatchOf = (what: ChatStep['do']): number => (what in maxBatch ? maxBatch[what as keyof typeof maxBatch] : 1)

/** Groups consecutive steps of one kind that are independent of each other. */
export function batchesOf(steps: readonly ChatStep[]): ChatStep[][] {
  const batches: ChatStep[][] = []
  for (const step of steps) {
    const last = batches.at(-1)
    if (last && last[0]?.do === step.do && last.length < maxBatchOf(step.do)) last.push(step)
    else batches.push([step])
  }
  return batches
}

/**
 * Runs a batch and returns the steps that the chat server refused: one refused user must not block the others. The next reconcile tries them again.
 */
export async function runBatch(
  deps: SpacesDeps,
  { chat, space }: Readonly<{ chat: Chat; space: SpaceRecord }>,
  batch: readonly ChatStep[],
): Promise<ChatStep[]> {
  const joined = batch.filter((step) => step.do === 'recordJoined')
  if (joined.length > 0) await recordJoinedInChat(deps.db, space.id, joined)
  const results = await Promise.allSettled(batch.map((step) => runStep(deps, chat, { space, step })))
  for (const one of results) if (one.status === 'rejected') throw one.reason
  const refused = batch.filter((_, n) => (results[n] as PromiseFulfilledResult<boolean>).value === false)
  for (const step of refused) await recordRefusal(deps, space, step)
  return refused
}

type StepOfSpace = Readonly<{ space: SpaceRecord; step: ChatStep }>

/** Returns false if the chat server refuses the step. */
async function runStep(deps: SpacesDeps, chat: Chat, { space, step }: StepOfSpace): Promise<boolean> {
  const { id: spaceId, name } = space
  if (step.do === 'create') await createRoom(chat, { kind: step.kind, spaceId, name })
  if (step.do === 'link') await linkRooms(chat, step)
  if (step.do === 'rename') await renameRoom(chat, step.roomId, name)
  if (step.do === 'recordLeft') await recordLeft(deps, { space, ...step })
  if (step.do === 'join') return joinRoom(chat, step)
  if (step.do === 'kick') return kickFrom(chat, step)
  return true
}

/** Shows the refusal in the member list, and logs it once. */
async function recordRefusal({ db, clock, log }: SpacesDeps, { id: spaceId }: SpaceRecord, step: ChatStep): Promise<void> {
  const isNew = step.do !== 'join' || (await recordRefused(db, { spaceId, userId: step.userId }, isoNow(clock)))
  if (isNew) log.warn({ spaceId, step }, 'the chat server refuses a member of a space')
}

type LeftMember = Readonly<{ space: SpaceRecord; userId: string; chatJoinedAt: string | null }>

/** Records that a member left in the chat. This cannot be prevented, even for the last owner; administrators of the tenant still manage the space. */
export const recordLeft = ({ db, clock }: Pick<SpacesDeps, 'db' | 'clock'>, { space, userId, chatJoinedAt }: LeftMember): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { id: spaceId, tenantId } = space
    await lockSpace(tx, { tenantId, spaceId })
    const member = await tx
      .selectFrom('space_members')
      .select('chat_joined_at')
      .where('space_id', '=', spaceId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    if (member?.chat_joined_at !== chatJoinedAt) return // added again since it was observed
    await changeSpaceRow(tx, { tenantId, spaceId }, { updatedAt: isoNow(clock) })
    await endMembership(tx, clock, { space, userId, actorId: userId, reason: 'chat' })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
  })
