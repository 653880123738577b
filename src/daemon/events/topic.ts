import { type Audience, type IsMember, messageOf } from '../../core/events/index.ts'
import { type Db, eventsAfter } from '../db/index.ts'

/** Somebody who is told what comes. */
export type Follower = Readonly<{
  /** Each event once, in order; also those that are not for it. */
  tell(told: Told, isMember: Page['isMember']): void
  /** Some were forgotten before anybody read them; it goes on after `seq`. */
  miss(seq: number): void
}>

/** One tenant's stream in this process, as long as anybody listens to it. All up to `position` was told to those who follow. */
export class Topic {
  readonly stream: string
  readonly followers = new Set<Follower>()
  position: number
  /** Streams that are open or about to be. */
  users = 0
  /** Where it is in the queue: nothing may be told twice at once. */
  turn: 'idle' | 'queued' | 'running' | 'again' = 'idle'

  constructor(stream: string, position: number) {
    this.stream = stream
    this.position = position
  }

  /** Tells one event to all who follow; without a pause in between, so that whoever joins knows exactly from where on. */
  tell(told: Told, isMember: Page['isMember']): void {
    this.position = told.seq
    for (const follower of this.followers) follower.tell(told, isMember)
  }

  miss(seq: number): void {
    this.position = seq
    for (const follower of this.followers) follower.miss(seq)
  }
}

/** An event as it goes to clients: serialised once for all of them, ready for their sockets. Without it nobody is told. */
export type Told = Readonly<{ seq: number; audience: Audience | null; bytes: Buffer | undefined }>

/** Events in their order. `hasGap`: some that should be there were forgotten. `isFull`: there may be more. */
export type Page = Readonly<{ told: readonly Told[]; isMember: IsMember; hasGap: boolean; isFull: boolean }>

/** Who is in spaces now, by the space. */
export type MembersOf = (db: Db, spaceIds: readonly string[]) => Promise<ReadonlyMap<string, ReadonlySet<string>>>

const pageSize = 500

/** Reads on in a stream. Its numbers have no gaps and become visible in order, so one that lacks was deleted, and none is still to come. */
export async function readPage(
  { db, membersOf }: Readonly<{ db: Db; membersOf: MembersOf }>,
  { stream, after }: Readonly<{ stream: string; after: number }>,
): Promise<Page> {
  const events = await eventsAfter(db, { stream, after, limit: pageSize })
  const told = events.map((event) => {
    const message = event.audience === null ? undefined : messageOf(event)
    return { seq: event.seq, audience: event.audience, bytes: message === undefined ? undefined : Buffer.from(message) }
  })
  const spaceIds = new Set(told.flatMap(({ audience }) => spacesOf(audience)))
  const members = spaceIds.size > 0 ? await membersOf(db, [...spaceIds]) : new Map<string, ReadonlySet<string>>()
  return {
    told,
    isMember: (spaceId, userId) => members.get(spaceId)?.has(userId) ?? false,
    hasGap: told.some(({ seq }, n) => seq !== after + n + 1),
    isFull: told.length === pageSize,
  }
}

const spacesOf = (audience: Audience | null): readonly string[] =>
  audience === null || audience === 'tenant' ? [] : (audience.spaces ?? [])
