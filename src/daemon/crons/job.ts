import { Cron } from 'croner'

type JobContext = Readonly<{ signal: AbortSignal }>

/** A job that runs by itself. `run` answers what it did, in one line; it is idempotent and stops when the signal aborts. */
export type CronJobDefinition = Readonly<{
  key: string
  /** Five fields, UTC. */
  expression: string
  description: string
  run(context: JobContext): Promise<string>
}>

/** A job with its expression read: a wrong one fails here, at the start of the program. */
export type DefinedJob = CronJobDefinition & Readonly<{ nextAfter(at: Date): Date | null }>

export function defineJob(job: CronJobDefinition): DefinedJob {
  const cron = new Cron(job.expression, { timezone: 'UTC', paused: true, mode: '5-part' })
  return { ...job, nextAfter: (at) => cron.nextRun(at) }
}

/** No job that was missed more often than this is told of each time. */
const mostTold = 100

/** The occurrences after `from` up to `to`, oldest first; of very many only the newest. */
export function occurrencesBetween(job: DefinedJob, from: Date, to: Date): Date[] {
  let found: Date[] = []
  for (let next = job.nextAfter(from); next !== null && next <= to; next = job.nextAfter(next)) {
    found.push(next)
    if (found.length > 2 * mostTold) found = found.slice(-mostTold)
  }
  return found.slice(-mostTold)
}
