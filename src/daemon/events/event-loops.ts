import type { Loop } from '../feature/index.ts'
import type { EventBus } from './event-bus.ts'
import type { EventStreams } from './event-streams.ts'

/** Publish events from the database. Notifications make it fast, polling makes it reliable. A stream ends within a second of its token's expiry. */
export const eventLoops = ({ bus, streams }: Readonly<{ bus: EventBus; streams: EventStreams }>): readonly Loop[] => [
  { name: 'publish events to streams', everyMs: 1000, onCommit: bus.notify, run: () => bus.poll() },
  { name: 'end streams of expired tokens', everyMs: 500, run: async () => streams.endExpired() },
]
