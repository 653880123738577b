import { z } from 'zod'
import type { RunEffect } from '../../core/boards/index.ts'
import { isProblem, newId } from '../../core/kit/index.ts'
import { insertJobs, insertRows, type JobHandler, type Write } from '../db/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { findReport, type RunReport } from './reports.repo.ts'
import { findRun } from './runs.repo.ts'

/** Job: store a report as files of its space. */
const reportTopic = 'runs.report'

type Report = Extract<RunEffect, { type: 'report' }>

/** The reports of a step, and a job for each. */
export function enqueueReports({ clock, random }: StepDeps, { run, effects, at }: AppliedStep): Write[] {
  const { id: runId, tenantId } = run
  const reports = effects.filter((effect): effect is Report => effect.type === 'report')
  if (reports.length === 0) return []
  const rows = reports.map(({ tokenId, elementId, title, markdown, missing }) => ({
    ...{ id: newId(random, 'rep'), run_id: runId, token_id: tokenId, tenant_id: tenantId, element_id: elementId, title, markdown },
    ...{ missing: JSON.stringify(missing), status: 'pending' as const, markdown_file_id: null, pdf_file_id: null, created_at: at },
  }))
  const queue = `${reportTopic}:${tenantId}`
  const jobs = rows.map(({ id }) => ({ topic: reportTopic, payload: { tenantId, runId, reportId: id }, queue, key: id }))
  return [insertRows('run_reports', rows), insertJobs(clock, jobs)]
}

const Payload = z.object({ tenantId: z.string(), reportId: z.string() })
type Deps = Pick<RunsDeps, 'db' | 'log' | 'storeReport'>

/**
 * Stores a report once, however often the job runs. The job waits while the object store is not available. Without its space, or at the last
 * attempt, the report is marked as failed; its text stays.
 */
export const reportJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [reportTopic]: async (payload, { last }) => {
    const { tenantId, reportId } = Payload.parse(payload)
    const report = await findReport(deps.db, { tenantId, id: reportId })
    if (report?.status !== 'pending') return
    try {
      await record(deps, report, await store(deps, tenantId, report))
    } catch (err) {
      if (isProblem(err, 'OBJECT_STORE_UNAVAILABLE') || (!last && !isProblem(err, 'NOT_FOUND'))) throw err
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
