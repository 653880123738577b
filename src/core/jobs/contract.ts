import { z } from 'zod'
import { admin, type Contract, endpoint, pagingBy } from '../contract/index.ts'
import { Job, JobCount, JobState } from './job.ts'

const base = '/api/admin/v1/jobs'
const JobId = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const JobCursor = z.string().regex(/^[0-9]{1,15}$/)
const Topic = z
  .string()
  .regex(/^[a-z]+([.-][a-z]+)*$/, 'must be a topic such as chat.space')
  .max(60)

/** Jobs that are not done: pending, waiting for a server, or dead. */
export const jobsContract = {
  listJobs: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: pagingBy(JobCursor).extend({ state: JobState.optional(), topic: Topic.optional() }),
    returns: z.object({ jobs: z.array(Job), nextCursor: z.string().nullable(), counts: z.array(JobCount) }),
    summary: 'List jobs that are not done, oldest first, with counts per topic and state',
  }),
  getJob: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: z.object({ id: JobId }),
    returns: Job,
    summary: 'Get a job that is not done; finished jobs are deleted',
  }),
  retryJobs: endpoint({
    method: 'POST',
    audit: 'job.retried',
    path: `${base}/retry`,
    auth: admin('operator'),
    /** Without `ids` and `topic`: all dead jobs. */
    body: z.strictObject({ ids: z.array(JobId).min(1).max(1000).optional(), topic: Topic.optional() }),
    returns: z.object({ retried: z.number() }),
    problems: ['NOT_FOUND'],
    summary: 'Retry dead jobs',
  }),
} as const satisfies Contract
