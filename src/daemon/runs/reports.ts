import { newId } from '../../core/kit/index.ts'
import { enqueueJob, type Tx } from '../db/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'

/** Job: store a report as files of its space. */
export const reportTopic = 'runs.report'

export async function enqueueReports({ clock, random }: StepDeps, tx: Tx, { run, effects, at }: AppliedStep): Promise<void> {
  const { id: runId, tenantId } = run
  for (const effect of effects) {
    if (effect.type !== 'report') continue
    const { tokenId, elementId, title, markdown, missing } = effect
    const id = newId(random, 'rep')
    const row = { id, run_id: runId, token_id: tokenId, tenant_id: tenantId, element_id: elementId, title, markdown, created_at: at }
    const files = { status: 'pending', markdown_file_id: null, pdf_file_id: null } as const
    await tx
      .insertInto('run_reports')
      .values({ ...row, ...files, missing: JSON.stringify(missing) })
      .execute()
    await enqueueJob(tx, clock, { topic: reportTopic, payload: { tenantId, reportId: id }, key: id })
  }
}
