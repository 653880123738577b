import { Gauge, type Registry } from 'prom-client'
import { type BusNeeds, type EventBus, makeEventBus } from './event-bus.ts'
import { type EventStreams, makeEventStreams, type StreamsNeeds } from './event-streams.ts'

type Needs = BusNeeds & Omit<StreamsNeeds, 'bus'> & Readonly<{ registry: Registry }>

export type Events = Needs & Readonly<{ bus: EventBus; streams: EventStreams }>

/** The event bus of a daemon, and the streams that hang on it. */
export function openEvents(needs: Needs): Events {
  const bus = makeEventBus(needs)
  const streams = makeEventStreams({ ...needs, bus })
  new Gauge({
    name: 'tenantry_event_streams',
    help: 'Event streams of users that are open at this daemon',
    registers: [needs.registry],
    collect() {
      this.set(streams.count())
    },
  })
  return { ...needs, bus, streams }
}
