// Events of tenants: one append-only table, the event streams of users, and the event tail for operators.
// Clients receive ids only, and only if they may read the resource. Features record their own events with `recordEvent`.
// This feature never interprets an event.
import { feature } from '../feature/index.ts'
import { eventLoops } from './event-loops.ts'
import { eventsRoutes } from './events.routes.ts'
import { forgetEvents } from './forget-events.ts'

export { makeEventBus } from './event-bus.ts'
export { eventLoops } from './event-loops.ts'
export { makeEventStreams } from './event-streams.ts'
export { eventsRoutes } from './events.routes.ts'
export { forgetEvents } from './forget-events.ts'
export { openEvents } from './open-events.ts'
export { recordEvent, recordEvents, recordForTenants, recordInternalEvent, recordModuleEvents, streamOf } from './record-event.ts'
export type { TenantIdOf } from './tail-events.ts'

export const eventsFeature = feature<Parameters<typeof eventsRoutes>[0] & Parameters<typeof eventLoops>[0]>({
  name: 'events',
  routes: eventsRoutes,
  loops: eventLoops,
  cleanup: (deps) => [(signal) => forgetEvents(deps, signal)],
})
