import type { StreamMessage } from '../../core/contract/index.ts'
import { makeWatcher, problem } from '../../core/kit/index.ts'
import { isOver } from '../../core/rollouts/index.ts'
import { eventsAfter } from '../db/index.ts'
import { countActions } from './actions.repo.ts'
import type { VerbDeps } from './deps.ts'
import { streamOf } from './publish.ts'
import { rolloutById } from './rollouts.repo.ts'

type Input = Readonly<{ id: string; lastEventId?: string | undefined; signal: AbortSignal }>

/** Interval of the poll for events of other replicas. */
const pollMs = 1000

/** The events of a rollout after `lastEventId`, then live; ends after the last event. Throws NOT_FOUND, and VALIDATION for an invalid id. */
export async function followRollout(deps: VerbDeps, input: Input): Promise<AsyncIterable<StreamMessage<unknown>>> {
  const after = readPosition(input.lastEventId)
  await rolloutById(deps.db, input.id)
  await assertEventsStored(deps, input.id, after)
  return messages(deps, input, after)
}

function readPosition(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return 0
  if (!/^[0-9]{1,15}$/.test(lastEventId)) throw noEvent('must be the id of an event of this stream')
  return Number(lastEventId)
}

const noEvent = (reason: string) => problem('VALIDATION', `Last-Event-ID: ${reason}`, { details: [{ path: 'Last-Event-ID', reason }] })

/** Event numbers have no gaps: where the next one is missing, retention has deleted the stream. */
async function assertEventsStored({ db }: Pick<VerbDeps, 'db'>, id: string, after: number): Promise<void> {
  const stream = streamOf(id)
  const head = await db.selectFrom('streams').select('seq').where('stream', '=', stream).executeTakeFirst()
  const last = Number(head?.seq ?? 0)
  if (after > last)
    throw noEvent(
      `the stream of ${id} ends at event ${last}; the database may have been restored from a backup. fix: read the rollout again`,
    )
  if (after === last) return
  const [next] = await eventsAfter(db, { stream, after, limit: 1 })
  if (next?.seq !== after + 1)
    throw problem(
      'NOT_FOUND',
      `the events of ${id} were deleted 90 days after its end. fix: read the outcome with \`tenantry rollouts show ${id}\``,
    )
}

async function* messages(
  { db, clock, rolloutBus }: VerbDeps,
  { id, signal }: Input,
  after: number,
): AsyncGenerator<StreamMessage<unknown>> {
  const watcher = makeWatcher()
  const stopListening = rolloutBus.listen(watcher.notify, id)
  let seq = after
  try {
    while (!signal.aborted) {
      const isEnded = await hasEnded({ db }, id) // before the events are read: none can follow unread
      const events = await eventsAfter(db, { stream: streamOf(id), after: seq })
      for (const event of events) {
        seq = event.seq
        yield { id: String(seq), event: event.eventType, data: event.payload }
      }
      if (events.length > 0) continue
      if (isEnded) return
      await watcher.wait(clock, pollMs, signal)
    }
  } finally {
    stopListening()
  }
}

/** Finished, with nothing in flight and no pending rollback that would still publish events. */
async function hasEnded({ db }: Pick<VerbDeps, 'db'>, id: string): Promise<boolean> {
  const { status } = await rolloutById(db, id)
  const { running, rollback } = (await countActions(db, [id]))(id)
  return isOver(status) && running === 0 && !rollback?.pending
}
