// `tenantry jobs`: list, show and retry jobs that are not done.
// It decides nothing. Finished jobs are deleted, so they are not listed.
import type { JobState } from '../../core/jobs/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { clean, command, count, noun, oneOf, text } from '../kit/index.ts'
import { jobList, jobView } from './jobs.view.ts'

const states = Object.keys({ waiting: 0, away: 0, dead: 0 } satisfies Record<JobState, 0>) as JobState[]

const list = command('list', 'List jobs that are not done, oldest first', {
  options: {
    state: oneOf('--state <state>', 'only jobs in this state (away: server does not answer; dead: abandoned)', states),
    topic: text('--topic <topic>', 'only jobs of this topic, such as chat.space'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, query) => api.jobs.listJobs({ query }),
  view: jobList,
  examples: ['list --state dead', 'list --topic chat.user-lock'],
})

const show = command('show <number>', 'Show a job, its subject and its last error', {
  run: ({ api }, { number }) => api.jobs.getJob({ params: { id: jobNumber(number) } }),
  view: jobView,
})

const retry = command('retry [numbers...]', 'Retry dead jobs: all, or the given ones', {
  options: { topic: text('--topic <topic>', 'only jobs of this topic') },
  run: ({ api }, { numbers = [], topic }) =>
    api.jobs.retryJobs({
      body: { ...(numbers.length > 0 ? { ids: numbers.map(jobNumber) } : {}), ...(topic === undefined ? {} : { topic }) },
    }),
  view: ({ retried }, _, { topic }) =>
    retried === 0
      ? topic === undefined
        ? 'No dead jobs.'
        : `No dead jobs of topic ${clean(topic)}. To list dead jobs: tenantry jobs list --state dead`
      : `${plural(retried, 'job')} will be retried. To follow: tenantry jobs list`,
  examples: ['retry', 'retry 17 18', 'retry --topic chat.space'],
})

/** Throws USAGE. */
function jobNumber(input: string): number {
  const id = Number(input)
  if (Number.isSafeInteger(id) && id > 0) return id
  throw problem('USAGE', `"${input}" is not a job number. fix: list jobs with \`tenantry jobs list\``)
}

export const jobs = noun('jobs', 'Manage jobs that are not done', [list, show, retry])
