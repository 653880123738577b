import { emergencyContract, rolloutsContract } from '../../core/rollouts/index.ts'
import { type Served, serve } from '../http/index.ts'
import { createRollout } from './create-rollout.ts'
import type { RolloutsDeps } from './deps.ts'
import { createEmergency } from './emergency/create-emergency.ts'
import { abortRollout } from './end-rollout.ts'
import { followRollout } from './follow-rollout.ts'
import { listRollouts } from './list-rollouts.ts'
import { pauseRollout } from './pause-rollout.ts'
import { planWanted } from './plan-rollout.ts'
import { rehearsals } from './rehearse-rollout.ts'
import { listEvidence, reportRollout } from './report-rollout.ts'
import { resumeRollout } from './resume-rollout.ts'
import { showAction, showRollout } from './show-rollout.ts'
import { startRollout } from './start-rollout.ts'
import { planUndo } from './undo/plan-undo.ts'
import { resumeUndo, stopUndo } from './undo/resume-undo.ts'
import { rollbackRollout } from './undo/roll-back.ts'

export const rolloutsRoutes = (deps: RolloutsDeps, rehearse = rehearsals(deps)): Served[] => [
  serve(rolloutsContract.planRollout, async ({ body }) => (await planWanted(deps, body)).plan),
  serve(rolloutsContract.rehearseRollout, ({ body, signal }) => rehearse(body, signal)),
  serve(rolloutsContract.createRollout, ({ actor, body, header }) => createRollout(deps, actor, body, header('idempotency-key'))),
  serve(emergencyContract.createEmergency, ({ actor, body, header }) => createEmergency(deps, actor, body, header('idempotency-key'))),
  serve(rolloutsContract.listRollouts, ({ actor, query }) => listRollouts(deps, actor, query)),
  serve(rolloutsContract.getRollout, ({ params }) => showRollout(deps, params.id)),
  serve(rolloutsContract.reportRollout, ({ params }) => reportRollout(deps, params)),
  serve(rolloutsContract.listEvidence, ({ params, query }) => listEvidence(deps, { ...params, ...query })),
  serve(rolloutsContract.getRolloutAction, ({ params }) => showAction(deps, params)),
  serve(rolloutsContract.startRollout, ({ actor, params, body }) => startRollout(deps, actor, { ...params, ...body })),
  serve(rolloutsContract.pauseRollout, ({ actor, params, body }) => pauseRollout(deps, actor, { ...params, ...body })),
  serve(rolloutsContract.resumeRollout, ({ actor, params, body }) => resumeRollout(deps, actor, { ...params, ...body })),
  serve(rolloutsContract.abortRollout, ({ actor, params, body }) => abortRollout(deps, actor, { ...params, ...body })),
  serve(rolloutsContract.rollbackRollout, ({ actor, params, body }) => rollbackRollout(deps, actor, { ...params, ...body })),
  serve(rolloutsContract.planUndo, ({ params, body }) => planUndo(deps, { ...params, ...body })),
  serve(rolloutsContract.resumeUndo, ({ actor, params }) => resumeUndo(deps, actor, params)),
  serve(rolloutsContract.stopUndo, ({ actor, params, body }) => stopUndo(deps, actor, { ...params, ...body })),
  serve(rolloutsContract.rolloutEvents, ({ params, header, signal }) =>
    followRollout(deps, { ...params, lastEventId: header('last-event-id'), signal }),
  ),
]
