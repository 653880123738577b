// Messages of the simulated chat server: `/sync` and `/messages` as Synapse answers them.

type Body = Record<string, unknown>
type Reply = readonly [status: number, body: Body]
type Entry = Readonly<{ at: number; roomId: string; event: Body }>
type Written = Readonly<{
  sender: string
  body?: string
  content?: Body
  type?: string
  stateKey?: string
  sentAt?: number
  eventId?: string
}>

export function chatTimeline() {
  let entries: Entry[] = []
  let head = 1
  const waiting = new Set<() => void>()

  /** Returns the id of the event. */
  function write(roomId: string, { sender, body = '', content, type = 'm.room.message', stateKey, sentAt, eventId }: Written): string {
    head += 1
    const id = eventId ?? `$event${head}`
    const event = {
      ...{ event_id: id, type, sender, origin_server_ts: sentAt ?? Date.now(), content: content ?? { msgtype: 'm.text', body } },
      ...(stateKey === undefined ? {} : { state_key: stateKey }),
    }
    entries.push({ at: head, roomId, event })
    for (const wake of waiting) wake()
    return id
  }

  const places = (token: string | null): number | undefined => {
    const [, at] = /^s(\d+)$/.exec(token ?? '') ?? []
    return at === undefined ? undefined : Math.min(Number(at), head)
  }

  async function sync(path: string): Promise<Reply> {
    const query = new URLSearchParams(path.split('?')[1])
    const filter = JSON.parse(query.get('filter') ?? '{}')
    const { rooms, timeline } = filter.room
    const since = query.get('since')
    const from = since === null ? 0 : places(since)
    if (from === undefined) return [400, { errcode: 'M_UNKNOWN', error: 'Invalid stream token' }]
    const fits = ({ at, roomId, event }: Entry) => at > from && rooms.includes(roomId) && (timeline.types ?? []).includes(event.type)
    if (!entries.some(fits)) await woken(Number(query.get('timeout') ?? 0), () => entries.some(fits))
    const join: Record<string, Body> = {}
    for (const roomId of rooms) {
      const all = entries.filter((entry) => entry.roomId === roomId && fits(entry))
      const shown = all.slice(-timeline.limit)
      if (shown.length === 0) continue
      const limited = all.length > shown.length || since === null
      join[roomId] = { timeline: { events: shown.map(({ event }) => event), limited, prev_batch: `s${(shown[0]?.at ?? 0) - 1}` } }
    }
    return [200, { next_batch: `s${head}`, rooms: { join } }]
  }

  function messages(path: string): Reply {
    const [, found = ''] = /\/rooms\/([^/]+)\/messages/.exec(path) ?? []
    const query = new URLSearchParams(path.split('?')[1])
    const [from = head, to = 0] = [places(query.get('from')), places(query.get('to'))]
    const types: string[] = JSON.parse(query.get('filter') ?? '{}').types ?? []
    const fits = ({ at, roomId, event }: Entry) =>
      roomId === decodeURIComponent(found) && at <= from && at > to && types.includes(String(event.type))
    const chunk = entries
      .filter(fits)
      .slice(-Number(query.get('limit')))
      .reverse()
    const last = chunk.at(-1)
    return [200, { start: `s${from}`, ...(last ? { end: `s${last.at - 1}` } : {}), chunk: chunk.map(({ event }) => event) }]
  }

  const woken = (ms: number, isReady: () => boolean) =>
    new Promise<void>((resolve) => {
      if (ms === 0) return resolve()
      const end = () => {
        clearTimeout(timer)
        waiting.delete(look)
        resolve()
      }
      const look = () => isReady() && end()
      const timer = setTimeout(end, ms)
      timer.unref()
      waiting.add(look)
    })

  return {
    write,
    sync,
    messages,
    /** Requests that wait for a message. */
    waiting: () => waiting.size,
    /** Returns a function that restores the messages of now, like a restore of the box. */
    backup: () => {
      const kept = [...entries]
      return () => {
        entries = kept
      }
    },
  }
}
