import { emergencyContract, rolloutsContract } from '../../core/rollouts/index.ts'
import { type Served, serve } from '../http/index.ts'
import { createRollout } from './create-rollout.ts'
import { createEmergency } from './emergency/create-emergency.ts'
import { abortRollout } from './end-rollout.ts'
import { followRollout } from './follow-rollout.ts'
import { listRollouts } from './list-rollouts.ts'
import type { RolloutsNeeds } from './needs.ts'
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

export const rolloutsRoutes = (needs: RolloutsNeeds, rehearse = rehearsals(needs)): Served[] => [
  serve(rolloutsContract.planRollout, async ({ body }) => (await planWanted(needs, body)).plan),
  serve(rolloutsContract.rehearseRollout, ({ body, signal }) => rehearse(body, signal)),
  serve(rolloutsContract.createRollout, ({ actor, body, header }) => createRollout(needs, actor, body, header('idempotency-key'))),
  serve(emergencyContract.createEmergency, ({ actor, body, header }) => createEmergency(needs, actor, body, header('idempotency-key'))),
  serve(rolloutsContract.listRollouts, ({ actor, query }) => listRollouts(needs, actor, query)),
  serve(rolloutsContract.getRollout, ({ params }) => showRollout(needs, params.id)),
  serve(rolloutsContract.reportRollout, ({ params }) => reportRollout(needs, params)),
  serve(rolloutsContract.listEvidence, ({ params, query }) => listEvidence(needs, { ...params, ...query })),
  serve(rolloutsContract.getRolloutAction, ({ params }) => showAction(needs, params)),
  serve(rolloutsContract.startRollout, ({ actor, params, body }) => startRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.pauseRollout, ({ actor, params, body }) => pauseRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.resumeRollout, ({ actor, params, body }) => resumeRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.abortRollout, ({ actor, params, body }) => abortRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.rollbackRollout, ({ actor, params, body }) => rollbackRollout(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.planUndo, ({ params, body }) => planUndo(needs, { ...params, ...body })),
  serve(rolloutsContract.resumeUndo, ({ actor, params }) => resumeUndo(needs, actor, params)),
  serve(rolloutsContract.stopUndo, ({ actor, params, body }) => stopUndo(needs, actor, { ...params, ...body })),
  serve(rolloutsContract.rolloutEvents, ({ params, header, signal }) =>
    followRollout(needs, { ...params, lastEventId: header('last-event-id'), signal }),
  ),
]
