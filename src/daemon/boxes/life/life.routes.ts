import { boxesContract } from '../../../core/boxes/index.ts'
import { type Served, serve } from '../../http/index.ts'
import { moveBox, showMovePlan } from './begin-move.ts'
import { completeBox } from './complete-adoption.ts'
import { confirmMove, giveBackBox } from './end-move.ts'
import { maintainBox } from './maintain-box.ts'
import type { LifeNeeds } from './needs.ts'
import { readLogs } from './read-logs.ts'
import { releaseBox } from './release-box.ts'
import { removeBox, undoRemoval } from './remove-box.ts'

/** What befalls boxes beside updates. */
export const lifeRoutes = (needs: LifeNeeds): Served[] => [
  serve(boxesContract.maintainBox, ({ actor, params, body }) => maintainBox(needs, actor, { ...params, ...body })),
  serve(boxesContract.readLogs, ({ actor, params, body }) => readLogs(needs, actor, { ...params, ...body })),
  serve(boxesContract.planMove, ({ params, body }) => showMovePlan(needs, params.slug, body)),
  serve(boxesContract.moveBox, ({ actor, params, body }) => moveBox(needs, actor, { ...params, ...body })),
  serve(boxesContract.confirmMove, ({ actor, params }) => confirmMove(needs, actor, params.slug)),
  serve(boxesContract.giveBackBox, ({ actor, params, body }) => giveBackBox(needs, actor, { ...params, ...body })),
  serve(boxesContract.removeBox, ({ actor, params, body }) => removeBox(needs, actor, { ...params, ...body })),
  serve(boxesContract.undoRemoval, ({ actor, params }) => undoRemoval(needs, actor, params.slug)),
  serve(boxesContract.completeBox, ({ actor, params, body }) => completeBox(needs, actor, { ...params, ...body })),
  serve(boxesContract.releaseBox, ({ actor, params, body }) => releaseBox(needs, actor, { ...params, ...body })),
]
