import { boxesContract } from '../../../core/boxes/index.ts'
import { type Served, serve } from '../../http/index.ts'
import { moveBox, showMovePlan } from './begin-move.ts'
import { completeBox } from './complete-adoption.ts'
import type { LifeDeps } from './deps.ts'
import { confirmMove, giveBackBox } from './end-move.ts'
import { maintainBox } from './maintain-box.ts'
import { readLogs } from './read-logs.ts'
import { releaseBox } from './release-box.ts'
import { removeBox, undoRemoval } from './remove-box.ts'

/** What befalls boxes beside updates. */
export const lifeRoutes = (deps: LifeDeps): Served[] => [
  serve(boxesContract.maintainBox, ({ actor, params, body }) => maintainBox(deps, actor, { ...params, ...body })),
  serve(boxesContract.readLogs, ({ actor, params, body }) => readLogs(deps, actor, { ...params, ...body })),
  serve(boxesContract.planMove, ({ params, body }) => showMovePlan(deps, params.slug, body)),
  serve(boxesContract.moveBox, ({ actor, params, body }) => moveBox(deps, actor, { ...params, ...body })),
  serve(boxesContract.confirmMove, ({ actor, params }) => confirmMove(deps, actor, params.slug)),
  serve(boxesContract.giveBackBox, ({ actor, params, body }) => giveBackBox(deps, actor, { ...params, ...body })),
  serve(boxesContract.removeBox, ({ actor, params, body }) => removeBox(deps, actor, { ...params, ...body })),
  serve(boxesContract.undoRemoval, ({ actor, params }) => undoRemoval(deps, actor, params.slug)),
  serve(boxesContract.completeBox, ({ actor, params, body }) => completeBox(deps, actor, { ...params, ...body })),
  serve(boxesContract.releaseBox, ({ actor, params, body }) => releaseBox(deps, actor, { ...params, ...body })),
]
