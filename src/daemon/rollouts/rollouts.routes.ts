import { roleAtLeast } from '../../core/contract/index.ts'
import { type BoxUpdate, emergencyContract, rolloutsContract } from '../../core/rollouts/index.ts'
import { existingBox } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { type Served, serveContract } from '../http/index.ts'
import { parseJson } from './action-row.ts'
import { abortRollout, pauseRollout, resumeRollout } from './control-rollout.ts'
import { createRollout } from './create-rollout.ts'
import type { RolloutsDeps } from './deps.ts'
import { createEmergency } from './emergency/create-emergency.ts'
import { lacksOf } from './emergency/lacks-of.ts'
import { followRollout } from './follow-rollout.ts'
import { planAnyRollout } from './plan-rollout.ts'
import { promoteRollout } from './promote-rollout.ts'
import { rehearsals } from './rehearse-rollout.ts'
import { listEvidence, reportRollout } from './report-rollout.ts'
import { resolveManifest } from './resolve-manifest.ts'
import { resumeRollback, stopRollback } from './rollback/resume-rollback.ts'
import { planRollback, rollbackRollout } from './rollback/rollback-rollout.ts'
import { listRollouts, showAction, showLastFailure, showRollout } from './show-rollout.ts'
import { startRollout } from './start-rollout.ts'

export const rolloutsRoutes = (deps: RolloutsDeps, rehearse = rehearsals(deps)): readonly Served[] => [
  ...serveContract(emergencyContract, {
    createEmergency: ({ actor, body, header }) => createEmergency(deps, actor, { ...body, idempotencyKey: header('idempotency-key') }),
  }),
  ...serveContract(rolloutsContract, {
    planRollout: async ({ body }) => (await planAnyRollout(deps, body)).plan,
    resolveManifest: async ({ body }) => ({ images: await resolveManifest(deps, body.manifest) }),
    rehearseRollout: ({ body, signal }) => rehearse(body, signal),
    createRollout: ({ actor, body, header }) => createRollout(deps, actor, { ...body, idempotencyKey: header('idempotency-key') }),
    listRollouts: async ({ actor, query }) => ({
      ...(await listRollouts(deps, actor, query)),
      emergencyLacks: lacksOf(deps),
    }),
    getRollout: ({ params }) => showRollout(deps, params.id),
    reportRollout: ({ params }) => reportRollout(deps, params),
    listBoxUpdates: async ({ params }) => ({ updates: await listBoxUpdates(deps, params) }),
    listEvidence: ({ params, query }) => listEvidence(deps, { ...params, ...query }),
    getRolloutAction: ({ actor, params }) => showAction(deps, { ...params, mayReadLogs: roleAtLeast(actor.role, 'operator') }),
    lastFailure: ({ params }) => showLastFailure(deps, params.slug),
    startRollout: ({ actor, params, body }) => startRollout(deps, actor, { ...params, ...body }),
    pauseRollout: ({ actor, params, body }) => pauseRollout(deps, actor, { ...params, ...body }),
    resumeRollout: ({ actor, params, body }) => resumeRollout(deps, actor, { ...params, ...body }),
    promoteRollout: ({ actor, params }) => promoteRollout(deps, actor, params),
    abortRollout: ({ actor, params, body }) => abortRollout(deps, actor, { ...params, ...body }),
    rollbackRollout: ({ actor, params, body }) => rollbackRollout(deps, actor, { ...params, ...body }),
    planRollback: ({ params, body }) => planRollback(deps, { ...params, ...body }),
    resumeRollback: ({ actor, params }) => resumeRollback(deps, actor, params),
    stopRollback: ({ actor, params, body }) => stopRollback(deps, actor, { ...params, ...body }),
    rolloutEvents: ({ params, header, signal }) => followRollout(deps, { ...params, lastEventId: header('last-event-id'), signal }),
  }),
]

const maxUpdates = 50

/** The newest attempts of all rollouts on one box, newest first. Throws NOT_FOUND. */
async function listBoxUpdates({ db }: Readonly<{ db: Db }>, { slug }: { slug: string }): Promise<BoxUpdate[]> {
  const { id } = await existingBox(db, slug)
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollout_attempts as attempt', 'attempt.action_id', 'action.id')
    .select(['action.rollout_id', 'action.from_versions', 'action.to_versions'])
    .select(['attempt.kind', 'attempt.attempt', 'attempt.status', 'attempt.started_at', 'attempt.finished_at'])
    .select(['attempt.duration_ms', 'attempt.error'])
    .where('action.box_id', '=', id)
    .orderBy('attempt.started_at', 'desc')
    .limit(maxUpdates)
    .execute()
  return rows.map((row) => ({
    rolloutId: row.rollout_id,
    kind: row.kind,
    attempt: row.attempt,
    status: row.status,
    from: JSON.parse(row.from_versions),
    to: JSON.parse(row.to_versions),
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    durationMs: row.duration_ms === null ? null : Number(row.duration_ms),
    error: parseJson(row.error),
  }))
}
