import { eventsContract } from '../../core/events/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Served, serve } from '../http/index.ts'
import type { EventStreams } from './event-streams.ts'
import { type TenantIdOf, tailEvents } from './tail-events.ts'

type Deps = Readonly<{ db: Db; clock: Clock; streams: EventStreams; tenantIdOf: TenantIdOf }>

export function eventsRoutes({ db, clock, streams, tenantIdOf }: Deps): Served[] {
  const paths = [eventsContract.eventStream, eventsContract.workflowEventStream, eventsContract.formerEventStream]
  return [
    ...paths.map((path) =>
      serve(path, ({ actor, header }) =>
        streams.open(actor, { authorization: header('authorization'), lastEventId: header('last-event-id') }),
      ),
    ),
    serve(eventsContract.tailEvents, ({ query, signal }) => tailEvents({ db, clock, tenantIdOf }, { ...query, signal })),
  ]
}
