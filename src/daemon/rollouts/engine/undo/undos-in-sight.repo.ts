import { type EngineAction, inFlightStatuses, type Parallelism } from '../../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../../db/index.ts'
import { heldAmong, lookInto, nextInTurn } from '../actions-in-sight.repo.ts'

type Wanted = Readonly<{ rolloutId: string; holds: Parameters<typeof lookInto>[2]; limits: Parallelism }>
type Narrowing = Parameters<ReturnType<typeof lookInto>>[0]

/** All that `decideUndo` needs to see: what is in flight, what came to rest, who waits for a hold or was told so, and who may be next. */
export async function undosInSight(db: DbOrTx, { rolloutId, holds, limits }: Wanted): Promise<EngineAction[]> {
  const look = lookInto(db, rolloutId, holds)
  const known = await look((query) => query.where('action.status', 'in', [...inFlightStatuses, 'rollback_failed']))
  const flying = known.filter(({ status }) => status !== 'rollback_failed')
  const waiting = (more: Narrowing) =>
    look((query) => more(query.where('action.status', '=', 'succeeded').where('undo_status', '=', 'pending')))
  const told = await waiting((query) => query.where('progress', 'like', '{"step":"wait"%'))
  const held = await heldAmong(waiting, [...holds.keys()])
  const page = (limit: number, offset: number) =>
    waiting((query) => query.orderBy('finished_at', 'desc').orderBy('slug', 'desc').limit(limit).offset(offset))
  const next = await nextInTurn(page, flying, limits)
  const seen = new Map([...known, ...told, ...held, ...next].map((action) => [action.slug, action]))
  return [...seen.values()]
}
