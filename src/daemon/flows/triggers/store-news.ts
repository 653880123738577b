import { type ChatAnswer, type ChatMessage, isOutdated, occurrenceKey, saysOneOf } from '../../../core/boards/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { isPlatformAccount } from '../../../core/users/index.ts'
import { holdLease, type Lease, type Tx } from '../../db/index.ts'
import { findUser, type UserRecord } from '../../users/index.ts'
import { enqueueAnswer } from './answer-room.ts'
import type { TriggersDeps } from './deps.ts'
import { raiseEncrypted, raiseUnread } from './encrypted-rooms.ts'
import { enqueueFailedCheck } from './failed-starts.ts'
import type { News } from './fetch-messages.ts'
import { insertOccurrence, lastStartIn } from './occurrences.repo.ts'
import { startOnce } from './start-once.ts'
import { activeTenant, type RoomTrigger, roomTriggersOf } from './triggers.repo.ts'
import type { ChatReaderTable } from './triggers.tables.ts'

type Deps = Pick<TriggersDeps, 'db' | 'clock' | 'startRun' | 'unfinishedRun'>

/** The messages that a reader read. `from`: its row at that time. */
export type Reading = Readonly<{ lease: Lease; from: ChatReaderTable; boxId: string; news: News }>

/**
 * Starts the runs that messages cause and stores the token, in one transaction. Does nothing if the reader was reset since it read. Returns false
 * if the tenant was suspended: without the token the messages are read again once it is resumed.
 */
export const storeNews = (deps: Deps, { lease, from, boxId, news }: Reading): Promise<boolean> =>
  deps.db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    const tenant = await activeTenant(tx, from.tenant_id)
    if (!tenant) return false
    const stored = tx.updateTable('chat_readers').set({ since: news.next, box_id: boxId }).where('tenant_id', '=', from.tenant_id)
    const same = from.since === null ? stored.where('since', 'is', null) : stored.where('since', '=', from.since)
    const { numUpdatedRows } = await same.where('read_from', '=', from.read_from).executeTakeFirst()
    if (numUpdatedRows === 0n) return true
    const tenantTriggers = { ...tenant, tenantId: from.tenant_id, triggers: await roomTriggersOf(tx, from.tenant_id) }
    // Also with a token: Synapse may answer the first request from a cache, with a token from before.
    const isFresh = ({ sentAtMs }: ChatMessage) => sentAtMs >= Date.parse(from.read_from)
    const now = deps.clock.now().getTime()
    // Late ones last: a message in time may start the run that they asked for.
    const messages = news.messages.filter(isFresh).toSorted((a, b) => Number(isOutdated(a, now)) - Number(isOutdated(b, now)))
    for (const message of messages) await startByMessage(deps, tx, { ...tenantTriggers, message })
    const read = new Set(tenantTriggers.triggers.map(({ roomId }) => roomId))
    for (const roomId of news.encrypted) if (read.has(roomId)) await raiseEncrypted(tx, deps.clock, { slug: tenant.slug, roomId })
    for (const roomId of news.unread) await raiseUnread(tx, deps.clock, { slug: tenant.slug, roomId })
    return true
  })

type Said = Readonly<{ tenantId: string; chatDomain: string; triggers: readonly RoomTrigger[]; message: ChatMessage }>

/** How far the clock of a chat server may be behind: an alarm just after a publication is not lost. */
const maxSkewMs = 60_000

async function startByMessage(deps: Deps, tx: Tx, { tenantId, chatDomain, triggers, message }: Said): Promise<void> {
  // A read after an outage also has messages from before a board began to read the room.
  const isRead = ({ roomId, readFrom }: RoomTrigger) =>
    roomId === message.roomId && (readFrom === null || message.sentAtMs >= Date.parse(readFrom) - maxSkewMs)
  const fitting = triggers.filter((one) => isRead(one) && saysOneOf(one.trigger.phrases, message.text))
  const sender = fitting.length > 0 ? await senderOf(tx, { tenantId, chatDomain, chatId: message.sender }) : undefined
  if (!sender) return
  const skipped: Skipped[] = []
  for (const active of fitting) {
    const isAllowed = active.roles.length === 0 || active.roles.some((role) => sender.roles.includes(role))
    if (!isAllowed) continue
    const skip = (await skipReason(deps, tx, active)) ?? (isOutdated(message, deps.clock.now().getTime()) ? late : undefined)
    if (skip) skipped.push({ active, message, ...skip })
    else await start(deps, tx, { active, message, sender })
  }
  // Last: another trigger of the same board may start a run by this message.
  for (const one of skipped) await recordSkipped(deps, tx, one)
}

type Skipped = Readonly<{ active: RoomTrigger; message: ChatMessage }> & Skip

/** Stores why the message starts nothing, unless the board started by it, and lets the bot answer in the room. */
async function recordSkipped({ clock }: Deps, tx: Tx, { active, message: { eventId }, reason, answer }: Skipped): Promise<void> {
  const outcome = answer.why === 'late' ? 'missed' : 'skipped'
  const { tenantId, boardId, roomId, trigger } = active
  const seen = { tenantId, boardId, roomId, triggerId: trigger.id, kind: 'chat', depth: 0, at: isoNow(clock) } as const
  const occurrence = occurrenceKey({ kind: 'chat', eventId })
  if (!(await insertOccurrence(tx, { ...seen, occurrence, outcome, runId: null, reason }))) return
  await enqueueAnswer(tx, clock, { tenantId, boardId, roomId, occurrence, answer })
  if (outcome === 'missed') await enqueueFailedCheck(tx, clock, { tenantId, boardId })
}

type Sent = Readonly<{ tenantId: string; chatDomain: string; chatId: string }>

/** The active user who wrote the message. The platform's own accounts start nothing, so no board starts by its own message. */
async function senderOf(tx: Tx, { tenantId, chatDomain, chatId }: Sent): Promise<UserRecord | undefined> {
  if (!chatId.startsWith('@') || !chatId.endsWith(`:${chatDomain}`)) return undefined
  const localpart = chatId.slice(1, -chatDomain.length - 1)
  const user = isPlatformAccount(localpart) ? undefined : await findUser(tx, { tenantId, localpart })
  return user?.status === 'active' ? user : undefined
}

type Skip = Readonly<{ reason: string; answer: ChatAnswer }>

const late: Skip = { reason: 'the message was read more than an hour after it was written', answer: { why: 'late', startedAt: null } }

/** A board does not start again for a room while a run of it there is unfinished, nor within its cooldown. Undefined: it may start. */
async function skipReason(
  deps: Deps,
  tx: Tx,
  { tenantId, boardId, roomId, roomSpaceId: spaceId, trigger }: RoomTrigger,
): Promise<Skip | undefined> {
  const last = await lastStartIn(tx, { tenantId, boardId, roomId })
  const now = deps.clock.now().getTime()
  // A board with a space of its own has its runs there, not in the space of the room.
  const open = await deps.unfinishedRun(tx, { tenantId, boardId, spaceId, runId: last?.runId ?? null })
  const answer = open && ({ why: 'open', startedAt: open.startedAt } as const)
  if (last !== undefined && now - Date.parse(last.at) < trigger.cooldownMinutes * 60_000) {
    const reason = `a message of the chat room started this board less than ${trigger.cooldownMinutes} minutes ago (cooldownMinutes)`
    return { reason, answer: answer ?? { why: 'cooldown', startedAt: last.at } }
  }
  return answer && { reason: 'a run of the board for the chat room is unfinished. fix: complete or cancel it', answer }
}

type Starting = Readonly<{ active: RoomTrigger; message: ChatMessage; sender: UserRecord }>

/** The run keeps who wrote which message, and its text only where the board asks for it. */
async function start(deps: Deps, tx: Tx, { active, message, sender }: Starting): Promise<void> {
  const { tenantId, boardId, spaceId, roomId, roomSpaceId, trigger } = active
  const { textVariable } = trigger
  const occurrence = occurrenceKey({ kind: 'chat', eventId: message.eventId })
  const recorded = await startOnce(deps, tx, {
    ...{ tenantId, boardId, triggerId: trigger.id, roomId, depth: 0, startedBy: sender.id },
    spaceId: spaceId ?? roomSpaceId,
    variables: textVariable === null ? {} : { [textVariable]: message.text.trim().slice(0, maxTextLength) },
    trigger: { type: 'chat', occurrence, sender: sender.id, eventId: message.eventId },
  })
  if (recorded !== 'failed') return
  await enqueueAnswer(tx, deps.clock, { tenantId, boardId, roomId, occurrence, answer: { why: 'failed', startedAt: null } })
}

const maxTextLength = 4_000
