import { type Audience, type IsMember, messageOf } from '../../core/events/index.ts'
import { type Db, eventsAfter } from '../db/index.ts'

/** A receiver of published events. */
export type Follower = Readonly<{
  /** Receives each event once, in order, also events for others. */
  publish(event: OutgoingEvent, isMember: Page['isMember']): void
  /** Some events were deleted before they were read; continues after `seq`. */
  miss(seq: number): void
}>

/** One tenant's stream in this process while it has clients. Events up to `position` are published to the followers. */
export class Topic {
  readonly stream: string
  readonly followers = new Set<Follower>()
  position: number
  /** Number of open and opening streams. */
  users = 0
  /** Read state; a topic has at most one reader. */
  state: 'idle' | 'queued' | 'running' | 'again' = 'idle'

  constructor(stream: string, position: number) {
    this.stream = stream
    this.position = position
  }

  /** Publishes one event to all followers synchronously, so that a new follower has an exact position. */
  publish(event: OutgoingEvent, isMember: Page['isMember']): void {
    this.position = event.seq
    for (const follower of this.followers) follower.publish(event, isMember)
  }

  miss(seq: number): void {
    this.position = seq
    for (const follower of this.followers) follower.miss(seq)
  }
}

/** An event serialised once for all clients. Without `bytes` it is internal. */
export type OutgoingEvent = Readonly<{ seq: number; audience: Audience | null; bytes: Buffer | undefined }>

/** Events in order. `hasGap`: some were deleted. `isFull`: there may be more. */
export type Page = Readonly<{ events: readonly OutgoingEvent[]; isMember: IsMember; hasGap: boolean; isFull: boolean }>

/** Current members by space. */
export type MembersOf = (db: Db, spaceIds: readonly string[]) => Promise<ReadonlyMap<string, ReadonlySet<string>>>
/** Those that their members alone find. */
export type PrivateOf = (db: Db, spaceIds: readonly string[]) => Promise<ReadonlySet<string>>

const pageSize = 500

/** Reads the next page of a stream. Numbers have no gaps and become visible in order, so a missing one was deleted. */
export async function readPage(
  { db, membersOf, privateOf }: Readonly<{ db: Db; membersOf: MembersOf; privateOf: PrivateOf }>,
  { stream, after }: Readonly<{ stream: string; after: number }>,
): Promise<Page> {
  const events = await eventsAfter(db, { stream, after, limit: pageSize })
  const within = new Set(events.flatMap(({ audience }) => partsOf(audience).within ?? []))
  const hidden = within.size > 0 ? await privateOf(db, [...within]) : new Set<string>()
  const outgoing = events.map((event) => {
    const message = event.audience === null ? undefined : messageOf(event)
    return { seq: event.seq, audience: narrowed(event.audience, hidden), bytes: message === undefined ? undefined : Buffer.from(message) }
  })
  const spaceIds = new Set(outgoing.flatMap(({ audience }) => [...(partsOf(audience).spaces ?? []), ...(partsOf(audience).within ?? [])]))
  const members = spaceIds.size > 0 ? await membersOf(db, [...spaceIds]) : new Map<string, ReadonlySet<string>>()
  return {
    events: outgoing,
    isMember: (spaceId, userId) => members.get(spaceId)?.has(userId) ?? false,
    hasGap: outgoing.some(({ seq }, n) => seq !== after + n + 1),
    isFull: outgoing.length === pageSize,
  }
}

const partsOf = (audience: Audience | null): Exclude<Audience, 'tenant'> => (audience === null || audience === 'tenant' ? {} : audience)

/** Spaces that are not private are found by every user. */
function narrowed(audience: Audience | null, hidden: ReadonlySet<string>): Audience | null {
  if (audience === null || audience === 'tenant' || !audience.within) return audience
  return { ...audience, within: audience.within.filter((spaceId) => hidden.has(spaceId)) }
}
