import { rolloutsContract } from '../../core/rollouts/index.ts'
import { type Served, serve } from '../http/index.ts'
import { createRollout } from './create-rollout.ts'
import { abortRollout, rollbackRollout } from './end-rollout.ts'
import { followRollout } from './follow-rollout.ts'
import { listRollouts } from './list-rollouts.ts'
import type { RolloutsNeeds } from './needs.ts'
import { pauseRollout } from './pause-rollout.ts'
import { planStaged } from './plan-rollout.ts'
import { resumeRollout } from './resume-rollout.ts'
import { showAction, showRollout } from './show-rollout.ts'
import { startRollout } from './start-rollout.ts'

export const rolloutsRoutes = (needs: RolloutsNeeds): Served[] => [
  serve(rolloutsContract.planRollout, async ({ body }) => (await planStaged(needs, body)).plan),
  serve(rolloutsContract.createRollout, ({ actor, body, header }) => createRollout(needs, actor, body, header('idempotency-key'))),
  serve(rolloutsContract.listRollouts, ({ query }) => listRollouts(needs, query)),
  serve(rolloutsContract.getRollout, ({ params }) => showRollout(needs, params.id)),
  serve(rolloutsContract.getRolloutAction, ({ params }) => showAction(needs, params)),
  serve(rolloutsContract.startRollout, ({ actor, params }) => startRollout(needs, actor, params)),
  serve(rolloutsContract.pauseRollout, ({ actor, params, body }) => pauseRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.resumeRollout, ({ actor, params, body }) => resumeRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.abortRollout, ({ actor, params, body }) => abortRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.rollbackRollout, ({ actor, params, body }) => rollbackRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.rolloutEvents, ({ params, header, signal }) =>
    followRollout(needs, { ...params, lastEventId: header('last-event-id'), signal }),
  ),
]
