import { readCursor } from '../../core/events/index.ts'
import type { PlatformPrincipal, Random } from '../../core/kit/index.ts'
import type { Revoked } from '../auth/index.ts'
import { headOf } from '../db/index.ts'
import type { PushStream } from '../http/index.ts'
import { type Beginning, ClientStream } from './client-stream.ts'
import { type BusDeps, type EventBus, limitConcurrency } from './event-bus.ts'

import { ReconnectDelays } from './reconnect-delays.ts'
import { streamOf } from './record-event.ts'
import { StreamPlaces } from './stream-places.ts'
import type { Topic } from './topic.ts'

export type StreamsDeps = BusDeps &
  Readonly<{
    bus: EventBus
    /** Name of this daemon in the shared database. */
    replica: string
    random: Random
    /** Authenticates against the database. Throws if token, session, user or tenant is no longer valid. */
    authenticate: (authorization: string | undefined) => Promise<PlatformPrincipal>
  }>

/** The open streams of this process. */
export type EventStreams = Readonly<{
  open(principal: PlatformPrincipal, input: StreamInput): Promise<PushStream>
  /** Ends streams whose token has expired. */
  endExpired(): void
  /** Renews the slots of open streams and releases those of dead daemons. */
  keepPlaces(): Promise<void>
  count(): number
}>

type StreamInput = Readonly<{ authorization: string | undefined; address: string; lastEventId: string | undefined }>

const maxConcurrentChecks = 4

export function makeEventStreams(deps: StreamsDeps): EventStreams {
  const { bus, clock, revocations } = deps
  const places = new StreamPlaces(deps)
  const streams = new Set<ClientStream>()
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

  const open = async (principal: PlatformPrincipal, input: StreamInput): Promise<PushStream> => {
    const place = await places.take(principal.userId)
    const topic = await bus.enter(streamOf(principal.tenantId)).catch((error) => {
      places.leave(place)
      throw error
    })
    const leave = () => {
      bus.leave(topic)
      places.leave(place)
    }
    const { seq, reset } = await beginning(deps, topic, input.lastEventId).catch((error) => {
      leave()
      throw error
    })
    const stream = new ClientStream(deps, topic, { principal, authorization: input.authorization, seq })
    const delay = delays.of(input.address)
    return {
      opened: (channel) => {
        streams.add(stream)
        stream.begin(channel, { retryMs: delay.opened(), reset })
        if (place.isEnded) return stream.replace()
        place.end = () => stream.replace()
        void reauthenticate(stream) // a revocation before `streams.add` did not reach this stream
      },
      closed: () => {
        if (streams.delete(stream)) delay.closed()
        stream.pause()
        leave()
      },
      keepAlive: () => stream.keepAlive(delay.changed()),
    }
  }

  const endExpired = () => {
    const now = clock.now().getTime()
    for (const stream of streams) if (stream.expiresAtMs <= now) stream.end()
  }
  return { open, endExpired, keepPlaces: () => places.renew(), count: () => streams.size }
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
