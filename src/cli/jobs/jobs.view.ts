import type { Job, JobCount, JobState } from '../../core/jobs/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'

const tint = { waiting: 'yellow', away: 'yellow', dead: 'red' } as const satisfies Record<JobState, keyof Paint>

const countColumns = ({ now }: Style): Column<JobCount>[] => [
  { title: 'TOPIC', value: ({ topic }) => topic, priority: 1 },
  { title: 'STATUS', value: ({ state }) => state, priority: 1, paint: ({ state }) => tint[state] },
  { title: 'JOBS', value: ({ count }) => count, priority: 1, align: 'right' },
  { title: 'FIRST DUE', value: ({ oldestAt }) => ago(oldestAt, now), priority: 2 },
]

const columns = ({ now }: Style): Column<Job>[] => [
  { title: 'NO', value: ({ id }) => id, priority: 1, align: 'right' },
  { title: 'TOPIC', value: ({ topic }) => topic, priority: 1 },
  { title: 'STATUS', value: ({ state }) => state, priority: 1, paint: ({ state }) => tint[state] },
  { title: 'TENANT', value: ({ tenant }) => tenant, priority: 2 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'ATTEMPTS', value: ({ attempts }) => attempts, priority: 3, align: 'right' },
  { title: 'LAST ERROR', value: ({ lastError }) => lastError, priority: 2, minWidth: 16 },
]

type Listed = Readonly<{ jobs: readonly Job[]; nextCursor: string | null; counts: readonly JobCount[] }>

type Filter = Readonly<{ topic?: string | undefined; state?: string | undefined }>

/** The table of counts below is of all jobs. */
const noJobs = ({ topic, state }: Filter, hasCounts: boolean): string => {
  if (topic === undefined && state === undefined) return 'No unfinished jobs.'
  return `No unfinished jobs ${topic === undefined ? 'in this state' : 'of this topic'}${hasCounts ? '; all topics:' : '.'}`
}

export const jobList = ({ jobs, nextCursor, counts }: Listed, style: Style, filter: Filter = {}): string =>
  sections(
    jobs.length === 0 ? noJobs(filter, counts.length > 0) : table(style, columns(style), jobs),
    nextCursor ? `Next page: --cursor ${nextCursor}` : '',
    counts.length === 0 ? '' : table(style, countColumns(style), counts),
    counts.some(({ state }) => state === 'dead') ? 'To retry dead jobs: tenantry jobs retry' : '',
  )

export function jobView(job: Job, style: Style): string {
  const { paint, now } = style
  const { id, topic, state, tenant, about, queue, attempts, lastError, createdAt, nextAt } = job
  const facts = fields(style, [
    ['tenant', tenant ? clean(tenant) : undefined],
    ...Object.entries(about).map(([name, value]): [string, string] => [name, clean(value)]),
    ['queue', queue === topic ? undefined : clean(queue)],
    ['created', stamp(createdAt, now)],
    ['attempts', String(attempts)],
    ['last error', lastError ? clean(lastError) : undefined],
    ['next attempt', nextAt ? stamp(nextAt, now) : undefined],
  ])
  return sections(
    `${paint.bold(clean(topic))} ${paint[tint[state]](state)}`,
    facts,
    state === 'dead' ? `After fixing the cause: tenantry jobs retry ${id}` : '',
  )
}
