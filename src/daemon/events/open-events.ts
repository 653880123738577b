import { Gauge, type Registry } from 'prom-client'
import { type BusDeps, type EventBus, makeEventBus } from './event-bus.ts'
import { type EventStreams, makeEventStreams, type StreamsDeps } from './event-streams.ts'

type Deps = BusDeps & Omit<StreamsDeps, 'bus'> & Readonly<{ registry: Registry }>

export type Events = Deps & Readonly<{ bus: EventBus; streams: EventStreams }>

/** Creates the event bus and the client streams of a daemon. */
export function openEvents(deps: Deps): Events {
  const bus = makeEventBus(deps)
  const streams = makeEventStreams({ ...deps, bus })
  new Gauge({
    name: 'tenantry_event_streams',
    help: 'Open event streams of users at this daemon',
    registers: [deps.registry],
    collect() {
      this.set(streams.count())
    },
  })
  return { ...deps, bus, streams }
}
