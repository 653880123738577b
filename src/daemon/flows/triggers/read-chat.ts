import type { TenantId } from '../../../core/kit/index.ts'
import type { Lease } from '../../db/index.ts'
import { readerOf, restartReader } from './chat-readers.repo.ts'
import type { TriggersDeps } from './deps.ts'
import { raiseUnread } from './encrypted-rooms.ts'
import { fetchMessages } from './fetch-messages.ts'
import { storeNews } from './store-news.ts'
import { activeTenant, roomTriggersOf } from './triggers.repo.ts'

type Deps = Pick<TriggersDeps, 'db' | 'clock' | 'log' | 'homeservers' | 'startRun' | 'unfinishedRun'>
type Round = Readonly<{ tenantId: string; lease: Lease; signal: AbortSignal }>

/** Between two checks for rooms of spaces that are being created. */
const withoutRoomMs = 5_000

/** The reader of a suspended tenant ends within a second. */
const suspendedMs = 5_000

/** Waits for messages of one tenant once and starts what they cause. Returns how long to wait before the next round. */
export async function readChatOnce(deps: Deps, { tenantId, lease, signal }: Round): Promise<number> {
  const { db, clock, log, homeservers } = deps
  const known = await readerOf(db, tenantId)
  const rooms = [...new Set((await roomTriggersOf(db, tenantId)).map(({ roomId }) => roomId))]
  if (!known) return withoutRoomMs
  const { reader, boxId } = known
  // Its token would grow old: a room that is read later has messages from before its board was published.
  if (rooms.length === 0 && reader.since !== null) await restartReader(db, clock, { tenantId })
  if (!boxId || rooms.length === 0) return withoutRoomMs
  if (reader.since !== null && reader.box_id !== boxId) {
    await restartReader(db, clock, { tenantId })
    return 0
  }
  const homeserver = homeservers.of(tenantId as TenantId)
  const read = await fetchMessages({ homeserver, signal }, { rooms, since: reader.since, readFrom: reader.read_from })
  if (signal.aborted) return 0
  if (read.kind === 'retry') {
    log.debug({ tenantId, reason: read.reason }, 'the messages of a chat server were not read')
    return read.afterMs
  }
  if (read.kind === 'restart') return restart(deps, tenantId, { since: reader.since, rooms })
  const { news } = read
  const isNothing = news.messages.length === 0 && news.encrypted.length === 0 && news.unread.length === 0
  if (isNothing && news.next === reader.since) return 0
  return (await storeNews(deps, { lease, from: reader, boxId, news })) ? 0 : suspendedMs
}

/** The server does not continue from the token, or has more than can be read: an alert names the unread rooms. */
async function restart(
  { db, clock }: Deps,
  tenantId: string,
  { since, rooms }: Readonly<{ since: string | null; rooms: readonly string[] }>,
) {
  const tenant = await activeTenant(db, tenantId)
  await db.transaction().execute(async (tx) => {
    await restartReader(tx, clock, { tenantId })
    if (since === null || !tenant) return
    for (const roomId of rooms) await raiseUnread(tx, clock, { slug: tenant.slug, roomId })
  })
  return since === null ? withoutRoomMs : 0
}
