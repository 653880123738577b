import { z } from 'zod'
import { type ChatMessage, readChatMessage } from '../../../core/boards/index.ts'

// Requests and answers of `/sync` and `/messages`. What a chat server sends is not trusted: a part of another form is left out.

const timelineTypes = ['m.room.message', 'm.room.encryption']
/** Small pages: an event has up to 64 KB, an answer up to 1 MB. */
export const pageSize = 10
/** The server answers before the connection times out. */
const waitMs = 30_000

/** `limit`: messages per room; 0: only a new token. */
type Asked = Readonly<{ rooms: readonly string[]; since: string | null; limit: number }>

/** Waits for new messages of the rooms after `since`; without it, answers at once with the newest. */
export function syncPath({ rooms, since, limit }: Asked): string {
  const nothing = { not_types: ['*'] }
  const room = {
    rooms,
    state: nothing,
    ephemeral: nothing,
    account_data: nothing,
    timeline: limit === 0 ? nothing : { types: timelineTypes, limit },
  }
  const filter = JSON.stringify({ presence: nothing, account_data: nothing, room })
  const query = new URLSearchParams({ filter, set_presence: 'offline', timeout: since === null ? '0' : String(waitMs) })
  if (since !== null) query.set('since', since)
  return `/_matrix/client/v3/sync?${query}`
}

type Gap = Readonly<{ roomId: string; from: string; to: string | null }>

/** The messages of a room between two tokens, newest first; without `to` all before `from`. */
export function messagesPath({ roomId, from, to }: Gap): string {
  const query = new URLSearchParams({
    dir: 'b',
    from,
    ...(to === null ? {} : { to }),
    limit: String(pageSize),
    filter: JSON.stringify({ types: timelineTypes }),
  })
  return `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/messages?${query}`
}

const Timeline = z.object({
  events: z.array(z.unknown()).default([]),
  limited: z.boolean().default(false),
  prev_batch: z.string().max(1_000).optional(),
})

const Synced = z.object({
  next_batch: z.string().min(1).max(1_000),
  rooms: z
    .object({ join: z.record(z.string(), z.object({ timeline: Timeline }).optional().catch(undefined)).default({}) })
    .default({ join: {} }),
})

/** `oldestMs`: when the oldest of all events was sent; undefined without events. */
type Events = Readonly<{ messages: readonly ChatMessage[]; isEncrypted: boolean; oldestMs: number | undefined }>

/** The messages of one room, oldest first. `gap`: messages before these are missing, back from this token. */
type RoomNews = Events & Readonly<{ roomId: string; gap: string | null }>

/** Undefined for an answer that is none of `/sync`. */
export function readSync(json: unknown): Readonly<{ next: string; rooms: readonly RoomNews[] }> | undefined {
  const { data } = Synced.safeParse(json)
  if (!data) return undefined
  const rooms = Object.entries(data.rooms.join).flatMap(([roomId, room]) => {
    if (!room) return []
    const { events, limited, prev_batch } = room.timeline
    return [{ roomId, ...newsIn(roomId, events), gap: limited ? (prev_batch ?? null) : null }]
  })
  return { next: data.next_batch, rooms }
}

const Page = z.object({ chunk: z.array(z.unknown()).default([]), end: z.string().max(1_000).optional() })

type PageNews = Events & Readonly<{ count: number; end: string | undefined }>

/** A page of `/messages`. `end`: where older ones begin; undefined at the end. */
export function readPage(roomId: string, json: unknown): PageNews | undefined {
  const { data } = Page.safeParse(json)
  if (!data) return undefined
  return { ...newsIn(roomId, data.chunk), count: data.chunk.length, end: data.end }
}

const StateEvent = z.object({ type: z.literal('m.room.encryption'), state_key: z.literal('') })

const Dated = z.object({ origin_server_ts: z.int() })

const newsIn = (roomId: string, events: readonly unknown[]): Events => ({
  messages: events.map((event) => readChatMessage(roomId, event)).filter((one) => one !== undefined),
  isEncrypted: events.some((event) => StateEvent.safeParse(event).success),
  oldestMs: events
    .flatMap((event) => Dated.safeParse(event).data?.origin_server_ts ?? [])
    .reduce<number | undefined>((oldest, at) => (oldest === undefined || at < oldest ? at : oldest), undefined),
})
