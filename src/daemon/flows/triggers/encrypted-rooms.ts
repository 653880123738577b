import { alertKey } from '../../../core/alerts/index.ts'
import type { Homeservers } from '../../../core/homeserver/index.ts'
import type { Clock, TenantId } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import type { Tx } from '../../db/index.ts'
import { roomTriggersOf } from './triggers.repo.ts'

const pathOf = (roomId: string): string => `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/state/m.room.encryption`

type Rooms = Readonly<{ encryptedRooms: ReadonlySet<string>; unknownRooms: ReadonlySet<string> }>

/** Which of the rooms are encrypted. A room counts as unknown while the chat server gives no answer about it. */
export async function readEncryption(
  { homeservers }: Readonly<{ homeservers: Homeservers }>,
  { tenantId, roomIds }: Readonly<{ tenantId: string; roomIds: readonly string[] }>,
): Promise<Rooms> {
  const [encryptedRooms, unknownRooms] = [new Set<string>(), new Set<string>()]
  for (const roomId of new Set(roomIds)) {
    const answer = await homeservers.of(tenantId as TenantId).send({ method: 'GET', path: pathOf(roomId), by: 'admin' })
    if (answer.kind === 'ok') encryptedRooms.add(roomId)
    else if (answer.kind !== 'refused' || answer.errcode !== 'M_NOT_FOUND') unknownRooms.add(roomId)
  }
  return { encryptedRooms, unknownRooms }
}

type OneRoom = Readonly<{ slug: string; roomId: string }>

/** A room that a chat trigger reads became encrypted: its messages start nothing any more. */
export async function raiseEncrypted(tx: Tx, clock: Clock, { slug, roomId }: OneRoom): Promise<void> {
  await raiseAlert(tx, clock, {
    kind: 'trigger_failed',
    key: encryptedKey(`${slug}/${roomId}`),
    subject: `${slug}/${roomId}`,
    title: `A room of ${slug} that starts runs is encrypted now`,
    // Members cannot encrypt a room of a space; an administrator of the box can.
    body:
      `Boards of ${slug} start runs by messages in the room ${roomId}. It was encrypted, which cannot be reverted, so its messages start ` +
      'nothing any more. Other rooms and triggers are not affected. Create a new space for these messages, and publish the boards with its room.',
    command: `tenantry tenants show ${slug}`,
    standing: true,
  })
}

const encryptedKey = (subject: string): string => alertKey('trigger_failed', `encrypted:${subject}`)

/** A gap that is too large, or a chat server that forgot what was read. */
export async function raiseUnread(tx: Tx, clock: Clock, { slug, roomId }: OneRoom): Promise<void> {
  await raiseAlert(tx, clock, {
    kind: 'trigger_failed',
    key: alertKey('trigger_failed', `unread:${slug}/${roomId}`),
    subject: `${slug}/${roomId}`,
    title: `Messages in a room of ${slug} were not read`,
    body:
      `Boards of ${slug} start runs by messages in the room ${roomId}. Some of its messages were not read: there were more ` +
      'than 1,000, or the chat server did not return them. Reading continues with the newest messages. Ask in the room whether a run is missing, ' +
      'and start it by hand.',
    command: `tenantry tenants show ${slug}`,
  })
}

/** Closes the alerts about rooms that no chat trigger reads any more. */
export async function closeEncryptionAlerts({ clock }: Readonly<{ clock: Clock }>, tx: Tx, tenantId: string): Promise<void> {
  const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
  const read = new Set((await roomTriggersOf(tx, tenantId)).map(({ roomId }) => `${slug}/${roomId}`))
  const open = await tx
    .selectFrom('alerts')
    .select('subject')
    .where('open_key', 'like', encryptedKey('%'))
    .where('subject', 'like', `${slug}/%`)
    .where('status', 'in', ['open', 'acknowledged'])
    .execute()
  for (const { subject } of open)
    if (!read.has(subject))
      await closeAlerts(tx, clock, { keys: [encryptedKey(subject)], because: 'no chat trigger reads the room any more' })
}
