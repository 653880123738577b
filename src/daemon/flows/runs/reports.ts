import { z } from 'zod'
import { alertKey } from '../../../core/alerts/index.ts'
import type { RunEffect } from '../../../core/boards/index.ts'
import { isProblem, newId, problem } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { insertJobs, insertRows, type JobHandler, type Write } from '../../db/index.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { findReport, type RunReport } from './reports.repo.ts'
import { slugOf } from './run-alerts.ts'
import { findRun } from './runs.repo.ts'
import type { AppliedStep } from './step.types.ts'

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
type Deps = Pick<RunsDeps, 'db' | 'clock' | 'log' | 'storeReport'>

/**
 * Stores a report once, however often the job runs. The job waits while the object store is not available. Without its space, or at the last
 * attempt, the report is marked as failed and operators get an alert; its text stays. They can retry the job, unless the space is gone.
 */
export const reportJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [reportTopic]: async (payload, { last }) => {
    const { tenantId, reportId } = Payload.parse(payload)
    const report = await findReport(deps.db, { tenantId, id: reportId })
    if (!report || report.status === 'ready') return
    try {
      await recordStored(deps, report, await store(deps, tenantId, report))
    } catch (err) {
      const isGone = isProblem(err, 'NOT_FOUND')
      if (isProblem(err, 'OBJECT_STORE_UNAVAILABLE') || (!last && !isGone)) throw err
      deps.log.warn({ err, reportId }, 'a report was not stored')
      await recordFailed(deps, report, isGone ? 'space' : isProblem(err, 'QUOTA_EXCEEDED') ? 'quota' : 'error')
      if (!isGone) throw err
    }
  },
})

/** Throws NOT_FOUND for a space that was deleted. */
async function store({ db, storeReport }: Deps, tenantId: string, { id, runId, title, markdown, createdAt }: RunReport) {
  const run = await findRun(db, { tenantId, id: runId })
  if (!run || run.spaceId === null) throw problem('NOT_FOUND', `Run ${runId} has no space.`)
  const createdBy = run.state.startedBy ?? 'boards'
  return storeReport({ tenantId, spaceId: run.spaceId, runId, key: id, createdBy, title, markdown, createdAt })
}

type Files = Readonly<{ markdownFileId: string; pdfFileId: string }>

/** Closes the alert of an earlier attempt. */
async function recordStored({ db, clock }: Deps, { id, status }: RunReport, files: Files): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const stored = { status: 'ready', markdown_file_id: files.markdownFileId, pdf_file_id: files.pdfFileId } as const
    const report = await tx.updateTable('run_reports').set(stored).where('id', '=', id).returning('id').executeTakeFirst()
    if (!report || status !== 'failed') return
    await closeAlerts(tx, clock, { keys: [reportKey(id)], because: 'the report was stored' })
  })
}

const reportKey = (reportId: string): string => alertKey('run_output_failed', reportId)

type Reason = 'quota' | 'space' | 'error'

const reasons = (slug: string): Readonly<Record<Reason, string>> => ({
  quota: `the files of ${slug} use its whole storage quota`,
  space: 'its space was deleted',
  error: 'of an unexpected error, which the log of the daemon names',
})

const fixes: Readonly<Record<Reason, string>> = {
  quota: 'Ask the school to delete files permanently, or to take a larger plan. Then the command below stores the report.',
  space: 'It cannot be stored any more. Ask the school to read it in the run, and to name another space in the board.',
  error: 'Fix the cause. Then the command below stores the report.',
}

/** Raises no alert about a report that was deleted with its run meanwhile. */
async function recordFailed({ db, clock }: Deps, { id, runId }: RunReport, reason: Reason): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const update = tx.updateTable('run_reports').set({ status: 'failed' }).where('id', '=', id).where('status', '!=', 'ready')
    const report = await update.returning(['tenant_id', 'element_id']).executeTakeFirst()
    if (!report) return
    const slug = await slugOf(tx, report.tenant_id)
    const { board_id: boardId } = await tx.selectFrom('runs').select('board_id').where('id', '=', runId).executeTakeFirstOrThrow()
    await raiseAlert(tx, clock, {
      kind: 'run_output_failed',
      key: reportKey(id),
      subject: `${slug}/${runId}`,
      title: `A report of a run of ${slug} was not stored`,
      body:
        `The report of the element ${report.element_id} in run ${runId} of board ${boardId} was not stored, because ${reasons(slug)[reason]}. ` +
        `Its text stays in the run, which continued.\n${fixes[reason]}`,
      command: reason === 'space' ? `tenantry runs show ${runId} --tenant ${slug}` : 'tenantry jobs retry --topic runs.report',
    })
  })
}
