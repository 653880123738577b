import { eventsContract } from '../../core/events/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Handlers, serveContract } from '../http/index.ts'
import type { EventStreams } from './event-streams.ts'
import { type TenantIdOf, tailEvents } from './tail-events.ts'

type Deps = Readonly<{ db: Db; clock: Clock; streams: EventStreams; tenantIdOf: TenantIdOf }>

export const eventsRoutes = ({ db, clock, streams, tenantIdOf }: Deps) => {
  const open: Handlers<typeof eventsContract>['eventStream'] = ({ actor, header }) =>
    streams.open(actor, { authorization: header('authorization'), lastEventId: header('last-event-id') })
  return serveContract(eventsContract, {
    eventStream: open,
    workflowEventStream: open,
    formerEventStream: open,
    tailEvents: ({ query, signal }) => tailEvents({ db, clock, tenantIdOf }, { ...query, signal }),
  })
}
