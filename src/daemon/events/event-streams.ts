import { readCursor } from '../../core/events/index.ts'
import type { PlatformPrincipal, Random } from '../../core/kit/index.ts'
import type { Revoked } from '../auth/index.ts'
import { headOf } from '../db/index.ts'
import type { PushStream } from '../http/index.ts'
import { type Beginning, ClientStream } from './client-stream.ts'
import { type BusDeps, type EventBus, limitConcurrency } from './event-bus.ts'

import { ReconnectDelays } from './reconnect-delays.ts'
import { streamOf } from './record-event.ts'
import type { Topic } from './topic.ts'

export type StreamsDeps = BusDeps &
  Readonly<{
    bus: EventBus
    random: Random
    /** Authenticates against the database. Throws if token, session, user or tenant is no longer valid. */
    authenticate: (authorization: string | undefined) => Promise<PlatformPrincipal>
  }>

/** The open streams of this process. */
export type EventStreams = Readonly<{
  open(principal: PlatformPrincipal, input: StreamInput): Promise<PushStream>
  /** Ends streams whose token has expired. */
  endExpired(): void
  count(): number
}>

type StreamInput = Readonly<{ authorization: string | undefined; address: string; lastEventId: string | undefined }>

const maxConcurrentChecks = 4
/** Streams of one user. Only the other end of a lost connection could close it, so a further stream ends the oldest one. */
const maxPerUser = 10

export function makeEventStreams(deps: StreamsDeps): EventStreams {
  const { bus, clock, revocations } = deps
  const streams = new Set<ClientStream>()
  /** Oldest first. */
  const byUser = new Map<string, Set<ClientStream>>()
  const delays = new ReconnectDelays(deps.random)
  const limited = limitConcurrency(maxConcurrentChecks)

  /** Pauses the stream until its user is authenticated again. */
  const reauthenticate = async (stream: ClientStream) => {
    const generation = stream.pause()
    const principal = await limited(() => deps.authenticate(stream.authorization)).catch(() => undefined)
    if (!principal) stream.end()
    else if (stream.isAt(generation)) stream.resume(principal)
  }
  revocations.onRevoked((revoked) => {
    for (const stream of streams) if (isAffected(revoked, stream.principal)) void reauthenticate(stream)
  })

  const add = (stream: ClientStream, userId: string) => {
    streams.add(stream)
    const own = byUser.get(userId) ?? new Set()
    byUser.set(userId, own.add(stream))
    for (const oldest of [...own].slice(0, -maxPerUser)) {
      own.delete(oldest)
      oldest.replace()
    }
  }
  const remove = (stream: ClientStream, userId: string): boolean => {
    const own = byUser.get(userId)
    own?.delete(stream)
    if (own?.size === 0) byUser.delete(userId)
    return streams.delete(stream)
  }

  const open = async (principal: PlatformPrincipal, input: StreamInput): Promise<PushStream> => {
    const { userId } = principal
    const topic = await bus.enter(streamOf(principal.tenantId))
    const { seq, reset } = await beginning(deps, topic, input.lastEventId).catch((error) => {
      bus.leave(topic)
      throw error
    })
    const stream = new ClientStream(deps, topic, { principal, authorization: input.authorization, seq })
    const delay = delays.of(input.address)
    return {
      opened: (channel) => {
        add(stream, userId)
        stream.begin(channel, { retryMs: delay.opened(), reset })
        void reauthenticate(stream) // a revocation before `add` did not reach this stream
      },
      closed: () => {
        if (remove(stream, userId)) delay.closed()
        stream.pause()
        bus.leave(topic)
      },
      keepAlive: () => stream.keepAlive(delay.changed()),
    }
  }

  const endExpired = () => {
    const now = clock.now().getTime()
    for (const stream of streams) if (stream.expiresAtMs <= now) stream.end()
  }
  return { open, endExpired, count: () => streams.size }
}

/** Start position of a client. An id beyond the stream's head is from another stream, or from before a database restore. */
async function beginning({ db }: StreamsDeps, topic: Topic, lastEventId: string | undefined): Promise<Beginning> {
  const cursor = readCursor(lastEventId)
  if (cursor.kind === 'none') return { seq: topic.position }
  if (cursor.kind === 'unknown') return { seq: topic.position, reset: 'unknown' }
  // Another replica may have published events that are not read here yet.
  const isReached = cursor.seq <= topic.position || cursor.seq <= (await headOf(db, topic.stream))
  return isReached ? { seq: cursor.seq } : { seq: topic.position, reset: 'unknown' }
}

const isAffected = (revoked: Revoked | 'everything', { sessionId, userId, tenantId }: PlatformPrincipal): boolean =>
  revoked === 'everything' ||
  (revoked.kind === 'user-session' && revoked.subject === sessionId) ||
  (revoked.kind === 'user' && revoked.subject === userId) ||
  (revoked.kind === 'tenant' && revoked.subject === tenantId)
