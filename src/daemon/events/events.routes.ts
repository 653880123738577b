import { eventsContract } from '../../core/events/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Handlers, serveContract } from '../http/index.ts'
import type { EventStreams } from './event-streams.ts'
import { type TenantIdOf, tailEvents } from './tail-events.ts'

type Deps = Readonly<{ db: Db; clock: Clock; streams: EventStreams; tenantIdOf: TenantIdOf }>

export const eventsRoutes = ({ db, clock, streams, tenantIdOf }: Deps) => {
  const open: Handlers<typeof eventsContract>['eventStream'] = ({ actor, address, query, header }) =>
    // A client that continues sends the header; the query may still have the position that its app began with.
    streams.open(actor, { authorization: header('authorization'), address, lastEventId: header('last-event-id') || query.lastEventId })
  return serveContract(eventsContract, {
    eventStream: open,
    workflowEventStream: open,
    formerEventStream: open,
    tailEvents: ({ query, signal }) => tailEvents({ db, clock, tenantIdOf }, { ...query, signal }),
  })
}
