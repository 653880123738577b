import { readCursor } from '../../core/events/index.ts'
import type { PlatformPrincipal, Random } from '../../core/kit/index.ts'
import type { Revoked } from '../auth/index.ts'
import { headOf } from '../db/index.ts'
import type { PushStream } from '../http/index.ts'
import { type Beginning, ClientStream } from './client-stream.ts'
import { type BusDeps, type EventBus, inTurn } from './event-bus.ts'

import { streamOf } from './record-event.ts'
import { StreamPlaces } from './stream-places.ts'
import type { Topic } from './topic.ts'

export type StreamsDeps = BusDeps &
  Readonly<{
    bus: EventBus
    /** This daemon among those that share the database. */
    replica: string
    random: Random
    /** Who calls with these credentials, as the records have it now. Throws when token, session, user or tenant has lost its standing. */
    authenticate: (authorization: string | undefined) => Promise<PlatformPrincipal>
  }>

/** The streams that are open in this process. */
export type EventStreams = Readonly<{
  open(principal: PlatformPrincipal, wanted: Wanted): Promise<PushStream>
  /** Ends those whose token is no longer valid. */
  endExpired(): void
  /** Keeps the places of those that are open here, and lets go of those of daemons that died. */
  keepPlaces(): Promise<void>
  count(): number
}>

type Wanted = Readonly<{ authorization: string | undefined; lastEventId: string | undefined }>

const looksAtOnce = 4

export function makeEventStreams(deps: StreamsDeps): EventStreams {
  const { bus, clock, revocations } = deps
  const places = new StreamPlaces(deps)
  const streams = new Set<ClientStream>()
  const look = inTurn(looksAtOnce)

  /** Tells it nothing until it is known that its user may still hear. */
  const prove = async (stream: ClientStream) => {
    const course = stream.pause()
    const principal = await look(() => deps.authenticate(stream.authorization)).catch(() => undefined)
    if (!principal) stream.end()
    else if (stream.isAt(course)) stream.resume(principal)
  }
  revocations.onRevoked((revoked) => {
    for (const stream of streams) if (isMeant(revoked, stream.principal)) void prove(stream)
  })

  const open = async (principal: PlatformPrincipal, wanted: Wanted): Promise<PushStream> => {
    const leavePlace = await places.take(principal.userId)
    const topic = await bus.enter(streamOf(principal.tenantId)).catch((error) => {
      leavePlace()
      throw error
    })
    const leave = () => {
      bus.leave(topic)
      leavePlace()
    }
    const { seq, reset } = await beginning(deps, topic, wanted.lastEventId).catch((error) => {
      leave()
      throw error
    })
    const stream = new ClientStream(deps, topic, { principal, authorization: wanted.authorization, seq })
    return {
      opened: (channel) => {
        streams.add(stream)
        stream.begin(channel, { retryMs: retryMs(deps.random), reset })
        void prove(stream) // whoever lost their standing before the stream was known here was told of too early
      },
      closed: () => {
        streams.delete(stream)
        stream.pause()
        leave()
      },
      keepAlive: () => stream.keepAlive(),
    }
  }

  const endExpired = () => {
    const now = clock.now().getTime()
    for (const stream of streams) if (stream.expiresAtMs <= now) stream.end()
  }
  return { open, endExpired, keepPlaces: () => places.renew(), count: () => streams.size }
}

/** Where a client goes on. An id that the stream has not reached is of another one, or of a database that was brought back from a backup. */
async function beginning({ db }: StreamsDeps, topic: Topic, lastEventId: string | undefined): Promise<Beginning> {
  const cursor = readCursor(lastEventId)
  if (cursor.kind === 'none') return { seq: topic.position }
  if (cursor.kind === 'unknown') return { seq: topic.position, reset: 'unknown' }
  // Another replica may have told it what is still to be read here.
  const isReached = cursor.seq <= topic.position || cursor.seq <= (await headOf(db, topic.stream))
  return isReached ? { seq: cursor.seq } : { seq: topic.position, reset: 'unknown' }
}

/** From two to six seconds: after a restart not all come back at once. */
const retryMs = (random: Random): number => 2000 + (((random.bytes(1)[0] as number) * 4000) >> 8)

const isMeant = (revoked: Revoked | 'everything', { sessionId, userId, tenantId }: PlatformPrincipal): boolean =>
  revoked === 'everything' ||
  (revoked.kind === 'user-session' && revoked.subject === sessionId) ||
  (revoked.kind === 'user' && revoked.subject === userId) ||
  (revoked.kind === 'tenant' && revoked.subject === tenantId)
