import { z } from 'zod'
import type { Homeservers } from '../../core/homeserver/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import type { Clock, TenantId } from '../../core/kit/index.ts'
import { noticeAliasName, noticeRoomBody } from '../../core/notices/index.ts'
import type { ObservedRoom } from '../../core/spaces/index.ts'
import type { Asked } from '../../core/tasks/index.ts'
import { textIn, textLanguageOf } from '../../core/texts/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { type Db, executeWrites, insertJobs, type JobHandler } from '../db/index.ts'
import { sendAsBot } from '../homeserver/index.ts'
import { type Chat, createRoomWith, joinRoom, readRoom, resolveRoom } from '../spaces/index.ts'
import { type TenantRecord, tenantById } from '../tenants/index.ts'
import { activeUsersWithRole, findUserById } from '../users/index.ts'

export type NoticesDeps = Readonly<{ db: Db; clock: Clock; homeservers: Homeservers }>

const [roleTopic, sendTopic] = ['notices.role', 'notices.user'] as const

/** `atMs`: the minute in which a user was asked. */
const Notice = z.object({ tenantId: z.string(), kind: z.enum(['task', 'checkpoint']), atMs: z.number() })
const OfRole = Notice.extend({ role: z.string(), by: z.string().nullable() })
const OfUser = Notice.extend({ userId: z.string() })

const minuteMs = 60_000
/** A notice that could not be sent for this long, as while the chat server is away, is of no use. */
const staleMs = 60 * minuteMs

type Notified = Readonly<{ tenantId: string; kind: 'task' | 'checkpoint'; at: string }> & Asked

/**
 * The job that notifies the phones of those whom a task or checkpoint asks; `by` gets no notice of what is for a role. It does not name the task: all
 * tasks of a minute are one notice, because equal jobs run once.
 */
export function noticeJob({ tenantId, kind, at, ...asked }: Notified, by: string | null) {
  const notice = { tenantId, kind, atMs: Math.floor(Date.parse(at) / minuteMs) * minuteMs }
  return 'userId' in asked ? jobOfUser({ ...notice, userId: asked.userId }) : jobOfRole({ ...notice, role: asked.role, by })
}

const jobOfUser = (payload: z.infer<typeof OfUser>) => ({
  ...{ topic: sendTopic, payload },
  ...chatQueue({ tenantId: payload.tenantId, what: 'notices', key: payload.userId }),
})

const jobOfRole = (payload: z.infer<typeof OfRole>) => ({
  ...{ topic: roleTopic, payload },
  ...chatQueue({ tenantId: payload.tenantId, what: 'notices', key: `role:${payload.role}` }),
})

/** A task for more holders asks none of them: it would be noise on every phone. */
const maxHolders = 200

/**
 * Writes to the users whom a task asks, in a room of the user and the bot. It waits while the chat server is not available. A user who left the
 * room, or has no account in the chat, gets nothing.
 */
export const noticeJobs = (deps: NoticesDeps): Readonly<Record<string, JobHandler>> => ({
  [roleTopic]: async (payload) => {
    const { role, by, ...notice } = OfRole.parse(payload)
    const holders = await activeUsersWithRole(deps.db, { tenantId: notice.tenantId, role })
    const asked = holders.filter((userId) => userId !== by)
    if (asked.length === 0 || asked.length > maxHolders) return
    const jobs = asked.map((userId) => jobOfUser({ ...notice, userId }))
    await deps.db.transaction().execute((tx) => executeWrites(tx, [insertJobs(deps.clock, jobs)]))
  },
  [sendTopic]: async (payload) => {
    const { tenantId, userId, kind, atMs } = OfUser.parse(payload)
    if (deps.clock.now().getTime() - atMs > staleMs) return
    const [tenant, user] = [await tenantById(deps.db, tenantId), await findUserById(deps.db, userId)]
    if (tenant?.status !== 'active' || user?.status !== 'active' || user.tenantId !== tenantId) return
    const chat = { homeserver: deps.homeservers.of(tenant.id), chatDomain: tenant.chatDomain }
    const chatId = matrixUserIdOf(user.localpart, tenant.chatDomain)
    const roomId = await roomWith(deps, chat, { tenant, userId, chatId })
    if (roomId === undefined) return
    const body = textIn(textLanguageOf(user.locale), `notice.${kind}`, { organisation: tenant.branding.tenantName })
    await sendAsBot(chat, { roomId, body, mentions: [chatId], transactionId: `notice.${kind}.${userId}.${atMs}` })
  },
})

type OfChat = Readonly<{ tenant: TenantRecord; userId: string; chatId: string }>

/** The room, with the user in it. Undefined if the user left it, or cannot join. */
async function roomWith({ clock }: NoticesDeps, chat: Chat, { tenant, userId, chatId }: OfChat): Promise<string | undefined> {
  const room = await noticeRoom(clock, chat, { tenant, userId })
  const membership = room.members.get(chatId)?.membership
  if (membership === 'join') return room.id
  if (membership === 'leave' || membership === 'ban') return undefined
  return (await joinRoom(chat, { roomId: room.id, chatId })) ? room.id : undefined
}

async function noticeRoom(clock: Clock, chat: Chat, { tenant, userId }: Omit<OfChat, 'chatId'>): Promise<ObservedRoom> {
  const user = { tenantId: tenant.id as TenantId, userId }
  const found = await resolveRoom(chat, clock, noticeAliasName(user))
  if (found) return found
  const roomId = await createRoomWith(chat, noticeRoomBody({ ...user, name: tenant.branding.tenantName }))
  const made = roomId === undefined ? undefined : await readRoom(chat, roomId)
  if (!made) throw new Error(`the chat server did not create the room of ${userId}`)
  return made.room
}
