import { enqueueJob, type Tx } from '../db/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'

/** Job: send a message of a run. Its text is in the row, not in the job, which operators can read. */
export const messageTopic = 'runs.message'

/** Stores the messages of a step and enqueues a job for each; those of one run are sent in order. */
export async function enqueueMessages({ clock }: Pick<StepDeps, 'clock'>, tx: Tx, { run, effects, at }: AppliedStep): Promise<void> {
  const { id: runId, tenantId } = run
  for (const effect of effects) {
    if (effect.type !== 'message') continue
    const { tokenId, elementId, room, body } = effect
    const row = { run_id: runId, token_id: tokenId, tenant_id: tenantId, element_id: elementId, room, body, created_at: at }
    await tx
      .insertInto('run_messages')
      .values({ ...row, status: 'pending', matrix_event_id: null })
      .execute()
    await enqueueJob(tx, clock, {
      topic: messageTopic,
      payload: { tenantId, runId, tokenId },
      queue: `${messageTopic}:${tenantId}`,
      key: runId,
    })
  }
}
