import { z } from 'zod'
import { admin, type Contract, endpoint, Timestamp } from '../contract/index.ts'

const JobKey = z.string().regex(/^[a-z][a-z0-9-]{1,60}$/, 'must be the key of a job, such as tenant-box-drift-detection')
const byKey = z.object({ jobKey: JobKey })

/** `missed`: no daemon was running at its time. `skipped`: the previous run had not finished. */
export const CronRunStatus = z.enum(['running', 'succeeded', 'failed', 'missed', 'skipped'])
export type CronRunStatus = z.infer<typeof CronRunStatus>

/** One run; snake case by the specification. */
export const CronRun = z.object({
  job_key: z.string(),
  status: CronRunStatus,
  duration_ms: z.number().int().nullable(),
  started_at: Timestamp,
  finished_at: Timestamp.nullable(),
  message: z.string().optional(),
})
export type CronRun = z.infer<typeof CronRun>

export const CronJob = z.object({
  jobKey: z.string(),
  expression: z.string(),
  timeZone: z.literal('UTC'),
  description: z.string(),
  nextRunAt: Timestamp.nullable(),
  lastRun: CronRun.nullable(),
})
export type CronJob = z.infer<typeof CronJob>

/** Jobs that run by themselves (spec 4.6). */
export const cronsContract = {
  listCrons: endpoint({
    method: 'GET',
    path: '/api/admin/crons',
    auth: admin('viewer'),
    returns: z.object({ crons: z.array(CronJob) }),
    summary: 'The registered jobs',
    spec: '4.6',
  }),
  triggerCron: endpoint({
    method: 'POST',
    audit: 'cron.triggered',
    path: '/api/admin/crons/:jobKey/trigger',
    auth: admin('operator'),
    params: byKey,
    returns: z.object({ success: z.boolean(), message: z.string() }),
    problems: ['CONFLICT'],
    summary: 'Run a job now and wait for its end',
    spec: '4.6',
  }),
  cronHistory: endpoint({
    method: 'GET',
    path: '/api/admin/crons/:jobKey/history',
    auth: admin('viewer'),
    params: byKey,
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(200).default(50) }),
    returns: z.object({ runs: z.array(CronRun) }),
    summary: 'Runs of a job, newest first',
    spec: '4.6',
  }),
} as const satisfies Contract
