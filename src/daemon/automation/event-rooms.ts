import { z } from 'zod'
import { eventAliasName, eventRoomBody, type Warning } from '../../core/automation/index.ts'
import type { Audience } from '../../core/events/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import { type AutomationActor, isoNow, newId, problem, type TenantId } from '../../core/kit/index.ts'
import { roleKey } from '../../core/tasks/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { acquireLease, type DbOrTx, enqueueJob, type JobHandler, releaseLease, renewLease, type Tx, whileRenewed } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { type Chat, createRoomWith, findAlias, joinRoom, readRoom, resolveRoom } from '../spaces/index.ts'
import { roleNamed } from '../tasks/index.ts'
import { tenantById } from '../tenants/index.ts'
import { activeUsersWithRole } from '../users/index.ts'
import type { AutomationDeps } from './deps.ts'
import { roleWarnings } from './event-tasks.ts'
import { addToEventRoom, type EventRoom, eventRoom, recordEventRoomId } from './rooms.repo.ts'

type Deps = Pick<AutomationDeps, 'db' | 'clock' | 'random' | 'roles' | 'homeservers'>
type NewRoom = Readonly<{
  eventId: string
  name: string
  topic?: string | undefined
  userIds: readonly string[]
  roles: readonly string[]
}>

const membersTopic = 'automation.room-members'
/** More members than this are refused: such a room would not be a crisis room. */
const maxMembers = 2000
/** The room of a daemon that died can be created by another call after this time. What is created twice is one room. */
const leaseMs = 20_000

export const chatOf = ({ homeservers }: Pick<Deps, 'homeservers'>, { tenantId, chatDomain }: AutomationActor): Chat => ({
  homeserver: homeservers.of(tenantId),
  chatDomain,
})

/**
 * Creates the room of an event, which has one, and adds members to it. Members join by a job. Throws NOT_FOUND (user), VALIDATION (too many
 * members), HOMESERVER_UNREACHABLE, CONFLICT (another call creates it right now).
 */
export async function createEventRoom(deps: Deps, actor: AutomationActor, input: NewRoom) {
  const { db, clock, random } = deps
  const { tenantId } = actor
  const { eventId, name, topic = null } = input
  const { members, warnings } = await membersFor(deps, tenantId, input)
  const at = isoNow(clock)
  const room = await db.transaction().execute((tx) => addToEventRoom(tx, { tenantId, eventId, name, topic, members }, at))
  const lease = await acquireLease(deps, { name: `event-room:${eventAliasName(room)}`, owner: newId(random, 'room'), ttlMs: leaseMs })
  if (!lease) throw problem('CONFLICT', 'Another call is creating the room of this event. fix: repeat the call in a few seconds')
  try {
    const renew = () => renewLease(deps, lease, leaseMs)
    const { roomId, created } = await whileRenewed({ clock, ttlMs: leaseMs, renew }, () => ensureRoom(deps, chatOf(deps, actor), room))
    await db.transaction().execute(async (tx) => {
      await recordEventRoomId(tx, room, roomId)
      await enqueueMembers(deps, tx, room)
      await recordEvent(tx, clock, {
        tenantId,
        type: 'crisis.updated',
        payload: { eventId, roomId },
        audience: membersOfEvent(room.members),
      })
      if (created)
        await recordAudit(tx, clock, { actor, action: 'automation.room-created', subject: actor.tenantSlug, data: { eventId, roomId } })
    })
    return { roomId, created, members: room.members.length, warnings }
  } finally {
    await releaseLease(deps, lease)
  }
}

/** The members of the room of an event. Without members it has no audience. */
export const membersOfEvent = (members: readonly string[]): Audience => (members.length === 0 ? {} : { users: [...members] })

/** Ids of the users and of the holders of the roles. */
async function membersFor(deps: Deps, tenantId: string, { userIds, roles }: NewRoom) {
  const known = new Map((await usersAmong(deps.db, { tenantId, ids: userIds })).map((user) => [user.id, user.status]))
  const warnings: Warning[] = []
  for (const [at, id] of userIds.entries()) {
    if (!known.has(id)) throw problem('NOT_FOUND', `User ${id} does not exist in this tenant`)
    if (known.get(id) !== 'active') warnings.push({ path: `userIds.${at}`, reason: `user ${id} is disabled and does not join` })
  }
  const holders: string[] = []
  for (const role of roles) holders.push(...(await activeUsersWithRole(deps.db, { tenantId, role: roleKey(roleNamed(deps.roles, role)) })))
  const members = [...new Set([...userIds, ...holders])]
  if (members.length > maxMembers) {
    const reason = `name more than ${maxMembers} members; name fewer, or use a space`
    throw problem('VALIDATION', `roles: ${reason}`, { details: [{ path: 'body.roles', reason }] })
  }
  warnings.push(
    ...(await roleWarnings(
      deps,
      tenantId,
      roles.map((role, at) => [`roles.${at}`, role] as const),
    )),
  )
  return { members, warnings }
}

/** The stored room, else the room of the alias, else a new one. */
async function ensureRoom(
  { clock }: Pick<Deps, 'clock'>,
  chat: Chat,
  room: EventRoom,
): Promise<Readonly<{ roomId: string; created: boolean }>> {
  const alias = eventAliasName(room)
  if (room.roomId !== null && (await isWhole(chat, room.roomId))) return { roomId: room.roomId, created: false }
  const found = await resolveRoom(chat, clock, alias)
  if (found) return { roomId: found.id, created: room.roomId === null }
  const roomId = (await createRoomWith(chat, eventRoomBody(room))) ?? (await findAlias(chat, alias))
  if (roomId === undefined || !(await isWhole(chat, roomId)))
    throw problem('CONFLICT', 'The chat server did not create the room of the event. fix: repeat the call')
  return { roomId, created: true }
}

const isWhole = async (chat: Chat, roomId: string): Promise<boolean> => (await readRoom(chat, roomId))?.whole === true

const enqueueMembers = ({ clock }: Pick<Deps, 'clock'>, tx: Tx, { tenantId, eventId }: EventRoom): Promise<void> =>
  enqueueJob(tx, clock, {
    topic: membersTopic,
    payload: { tenantId, eventId },
    ...chatQueue({ tenantId, what: 'events', key: eventId }),
  })

const Payload = z.object({ tenantId: z.string().transform((id) => id as TenantId), eventId: z.string() })

/** Joins in parallel. */
const atOnce = 4

/** Joins the active members who are not in the room. A user whom the chat server refuses, for lack of an account, does not stop the others. */
export const eventRoomJobs = (deps: Deps & Pick<AutomationDeps, 'log'>): Readonly<Record<string, JobHandler>> => ({
  [membersTopic]: async (payload, { signal }) => {
    const { tenantId, eventId } = Payload.parse(payload)
    const room = await eventRoom(deps.db, { tenantId, eventId })
    const tenant = await tenantById(deps.db, tenantId)
    if (!room?.roomId || !tenant) return
    const chat = { homeserver: deps.homeservers.of(tenantId), chatDomain: tenant.chatDomain }
    const there = (await readRoom(chat, room.roomId))?.room.members
    if (!there) return
    const users = await usersAmong(deps.db, { tenantId, ids: room.members })
    const chatIds = users.filter(({ status }) => status === 'active').map(({ localpart }) => matrixUserIdOf(localpart, tenant.chatDomain))
    const missing = chatIds.filter((id) => !there.has(id)) // a user who left stays away
    for (let at = 0; at < missing.length && !signal?.aborted; at += atOnce) {
      const joined = missing
        .slice(at, at + atOnce)
        .map(async (chatId) => ({ chatId, ok: await joinRoom(chat, { roomId: room.roomId ?? '', chatId }) }))
      for (const { chatId, ok } of await Promise.all(joined))
        if (!ok) deps.log.warn({ tenantId, eventId, chatId }, 'the chat server refuses a member of an event room')
    }
    if (signal?.aborted) throw new Error('stopped before all members joined')
  },
})

/** This number of names fits into a message, however long they are; the phones of further members notify without a sound. */
const maxMentions = 200

/** Chat ids of the active members of an event, for a message that their phones must not be late with. */
export async function mentionsOf(db: DbOrTx, { tenantId, members }: EventRoom, chatDomain: string): Promise<string[]> {
  const users = await usersAmong(db, { tenantId, ids: members.slice(0, maxMentions) })
  return users.filter(({ status }) => status === 'active').map(({ localpart }) => matrixUserIdOf(localpart, chatDomain))
}

/** The users of the tenant among these ids, with their names and whether they are active. */
const usersAmong = (db: DbOrTx, { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly string[] }>) =>
  ids.length === 0
    ? Promise.resolve([])
    : db
        .selectFrom('users')
        .select(['id', 'localpart', 'status'])
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', [...ids])
        .execute()
