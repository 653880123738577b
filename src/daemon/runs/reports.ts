import { z } from 'zod'
import { isProblem, newId } from '../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { findReport, type RunReport } from './reports.repo.ts'
import { findRun } from './runs.repo.ts'

/** Job: store a report as files of its space. */
const reportTopic = 'runs.report'

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
    await enqueueJob(tx, clock, { topic: reportTopic, payload: { tenantId, runId, reportId: id }, key: id })
  }
}

const Payload = z.object({ tenantId: z.string(), reportId: z.string() })
type Deps = Pick<RunsDeps, 'db' | 'log' | 'storeReport'>

/** Stores a report once, however often the job runs. Without its space, or at the last attempt, the report is marked as failed; its text stays. */
export const reportJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [reportTopic]: async (payload, { last }) => {
    const { tenantId, reportId } = Payload.parse(payload)
    const report = await findReport(deps.db, { tenantId, id: reportId })
    if (report?.status !== 'pending') return
    try {
      await record(deps, report, await store(deps, tenantId, report))
    } catch (err) {
      if (!last && !isProblem(err, 'NOT_FOUND')) throw err
      deps.log.warn({ err, reportId }, 'a report was not stored')
      await record(deps, report, null)
    }
  },
})

type Files = Readonly<{ markdownFileId: string; pdfFileId: string }> | null

async function store({ db, storeReport }: Deps, tenantId: string, { id, runId, title, markdown, createdAt }: RunReport): Promise<Files> {
  const run = await findRun(db, { tenantId, id: runId })
  if (!run || run.spaceId === null) return null
  const createdBy = run.state.startedBy ?? 'boards'
  return storeReport({ tenantId, spaceId: run.spaceId, runId, key: id, createdBy, title, markdown, createdAt })
}

/** Without files the report has failed and is not tried again. */
async function record({ db }: Pick<Deps, 'db'>, { id }: RunReport, files: Files): Promise<void> {
  const stored = { markdown_file_id: files?.markdownFileId ?? null, pdf_file_id: files?.pdfFileId ?? null }
  await db
    .updateTable('run_reports')
    .set({ status: files ? 'ready' : 'failed', ...stored })
    .where('id', '=', id)
    .execute()
}
