import type { StreamMessage } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import { isOver } from '../../core/rollouts/index.ts'
import { eventsAfter } from '../db/index.ts'
import { countActions } from './actions.repo.ts'
import type { VerbDeps } from './deps.ts'
import { rolloutById } from './rollouts.repo.ts'
import { streamOf } from './tell.ts'

type Wanted = Readonly<{ id: string; lastEventId?: string | undefined; signal: AbortSignal }>

/** How often other replicas' events are looked for. */
const lookMs = 1000

/** The story of a rollout from after `lastEventId`, then live; it ends when there will be nothing more to tell. Throws NOT_FOUND. */
export async function followRollout(deps: VerbDeps, wanted: Wanted): Promise<AsyncIterable<StreamMessage<unknown>>> {
  const after = readPosition(wanted.lastEventId)
  await rolloutById(deps.db, wanted.id)
  await requireStory(deps, wanted.id, after)
  return messages(deps, wanted, after)
}

function readPosition(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return 0
  if (!/^[0-9]{1,15}$/.test(lastEventId)) throw noEvent('must be the id of an event of this stream')
  return Number(lastEventId)
}

const noEvent = (reason: string) => problem('VALIDATION', `Last-Event-ID: ${reason}`, { details: [{ path: 'Last-Event-ID', reason }] })

/** Numbers have no gaps: when the next one is not there, the stream was forgotten (`forgetRollouts`). */
async function requireStory({ db }: Pick<VerbDeps, 'db'>, id: string, after: number): Promise<void> {
  const stream = streamOf(id)
  const told = await db.selectFrom('streams').select('seq').where('stream', '=', stream).executeTakeFirst()
  const last = Number(told?.seq ?? 0)
  if (after > last) throw noEvent(`the stream of ${id} ends at event ${last}: was the database put back? Look at the rollout anew`)
  if (after === last) return
  const [next] = await eventsAfter(db, { stream, after, limit: 1 })
  if (next?.seq !== after + 1)
    throw problem(
      'NOT_FOUND',
      `the events of ${id} are gone, they are kept for 90 days after its end: \`tenantry rollouts show ${id}\` tells what became of it`,
    )
}

async function* messages(
  { db, clock, rolloutBus }: VerbDeps,
  { id, signal }: Wanted,
  after: number,
): AsyncGenerator<StreamMessage<unknown>> {
  const watcher = rolloutBus.watch(id)
  let seq = after
  try {
    while (!signal.aborted) {
      const told = await isTold({ db }, id) // before the events are read: none can come after them unseen
      const events = await eventsAfter(db, { stream: streamOf(id), after: seq })
      for (const event of events) {
        seq = event.seq
        yield { id: String(seq), event: event.eventType, data: event.payload }
      }
      if (events.length > 0) continue
      if (told) return
      await watcher.wait(clock, lookMs, signal)
    }
  } finally {
    watcher.close()
  }
}

/** Over, and nothing of it in flight or to be brought back that would still be recorded. */
async function isTold({ db }: Pick<VerbDeps, 'db'>, id: string): Promise<boolean> {
  const { status } = await rolloutById(db, id)
  const { running, undo } = (await countActions(db, [id]))(id)
  return isOver(status) && running === 0 && !undo?.pending
}
