// What happened in tenants, as it is stored and as it is told: one append-only table, and the streams that their users listen to.
// Only ids leave here, and only to those who may read what they name. What an event means is the business of the room that recorded it.
import './events.tables.ts'
import { feature } from '../feature/index.ts'
import { eventsRoutes } from './events.routes.ts'
import { forgetEvents } from './forget-events.ts'
import { runEvents } from './run-events.ts'

export { makeEventBus } from './event-bus.ts'
export { makeEventStreams } from './event-streams.ts'
export { eventsRoutes } from './events.routes.ts'
export { forgetEvents } from './forget-events.ts'
export { openEvents } from './open-events.ts'
export { recordEvent, recordEvents, recordInternalEvent, streamOf } from './record-event.ts'
export { runEvents } from './run-events.ts'
export type { TenantIdOf } from './tail-events.ts'

export const eventsFeature = feature<Parameters<typeof eventsRoutes>[0] & Parameters<typeof runEvents>[0]>({
  name: 'events',
  routes: eventsRoutes,
  loops: (deps) => [(signal) => runEvents(deps, signal)],
  cleanup: (deps) => [(signal) => forgetEvents(deps, signal)],
})
