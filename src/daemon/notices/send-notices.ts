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

/** `at`: when it was asked; the same task may ask the same user again later. `by` gets no notice. */
const Notice = z.object({
  tenantId: z.string(),
  kind: z.enum(['task', 'checkpoint']),
  id: z.string(),
  at: z.string(),
  by: z.string().nullable(),
})
const OfRole = Notice.extend({ role: z.string() })
const OfUser = Notice.extend({ userId: z.string() })

const jobOf = (topic: string, payload: z.infer<typeof Notice>) => ({
  ...{ topic, payload },
  ...chatQueue({ tenantId: payload.tenantId, what: 'notices', key: payload.id }),
})

/** The job that notifies the phones of those whom a task or checkpoint asks. It has ids alone. */
export const noticeJob = (notice: z.infer<typeof Notice> & Asked) => jobOf('userId' in notice ? sendTopic : roleTopic, notice)

/** A task for more holders asks none of them: it would be noise on every phone. */
const maxHolders = 200

/**
 * Writes to the users whom a task asks, in a room of the user and the bot. It waits while the chat server is not available. A user who left the
 * room, or has no account in the chat, gets nothing.
 */
export const noticeJobs = (deps: NoticesDeps): Readonly<Record<string, JobHandler>> => ({
  [roleTopic]: async (payload) => {
    const { role, ...notice } = OfRole.parse(payload)
    const holders = await activeUsersWithRole(deps.db, { tenantId: notice.tenantId, role })
    const asked = holders.filter((userId) => userId !== notice.by)
    if (asked.length === 0 || asked.length > maxHolders) return
    const jobs = asked.map((userId) => jobOf(sendTopic, { ...notice, userId } as z.infer<typeof OfUser>))
    await deps.db.transaction().execute((tx) => executeWrites(tx, [insertJobs(deps.clock, jobs)]))
  },
  [sendTopic]: async (payload) => {
    const { tenantId, userId, kind, id, at } = OfUser.parse(payload)
    const [tenant, user] = [await tenantById(deps.db, tenantId), await findUserById(deps.db, userId)]
    if (tenant?.status !== 'active' || user?.status !== 'active' || user.tenantId !== tenantId) return
    const chat = { homeserver: deps.homeservers.of(tenant.id), chatDomain: tenant.chatDomain }
    const chatId = matrixUserIdOf(user.localpart, tenant.chatDomain)
    const roomId = await roomWith(deps, chat, { tenant, userId, chatId })
    if (roomId === undefined) return
    const body = textIn(textLanguageOf(user.locale), `notice.${kind}`, { organisation: tenant.branding.tenantName })
    await sendAsBot(chat, { roomId, body, mentions: [chatId], transactionId: `${id}.${Date.parse(at)}` })
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
