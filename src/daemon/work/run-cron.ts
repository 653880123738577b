import { z } from 'zod'
import { alertKey, type NewAlert } from '../../core/alerts/index.ts'
import { type Clock, isoNow, printable } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import type { Db, JobHandler, Tx } from '../db/index.ts'
import type { Cron } from '../feature/index.ts'
import { beginRun, finishRun, type RunEnd } from './cron-runs.repo.ts'

/** Jobs that run crons. */
export const cronTopic = 'cron'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; crons: () => readonly Cron[] }>

const Payload = z.object({ cron: z.string(), runId: z.string() })

/** A run whose daemon died this often is over: it may be the cause. */
const maxAttempts = 5

/**
 * Runs a cron and stores how it ended. A cron that fails is not retried: its next due time is its next attempt. A daemon that stops or dies before
 * the end leaves the job to another one, which runs the cron again.
 */
export const cronHandler =
  ({ db, clock, log, crons }: Deps): JobHandler =>
  async (payload, { attempt = 1, signal = new AbortController().signal }) => {
    const { cron: key, runId: id } = Payload.parse(payload)
    const startedAt = isoNow(clock)
    // It may have finished with its change.
    if (!(await beginRun(db, id, startedAt))) return
    const cron = crons().find((one) => one.key === key)
    // One of a newer replica, which is upgraded first: the next attempt may be its own.
    if (!cron && attempt <= maxAttempts) throw new Error(`this version of the daemon has no job ${key}; a newer one may run it`)
    const finish = (tx: Tx, end: RunEnd) => finishRun(tx, { id, startedAt, finishedAt: isoNow(clock) }, end)
    const end = await outcomeOf(cron, attempt, { signal, finish: (tx, message) => finish(tx, { status: 'succeeded', message }) })
    if (signal.aborted) throw new Error('stopped before its end; the next daemon that takes the job runs it again')
    await db.transaction().execute(async (tx) => {
      const isEnd = await finish(tx, end)
      // Its work is in jobs, the last of which closes the alert. One that finished with its change has not failed.
      if (isEnd && cron?.isAlerted && end.status === 'failed') await raiseAlert(tx, clock, cronFailed(key, end.message))
    })
    log.info({ job: key, runId: id, ...end }, 'job ended')
  }

async function outcomeOf(cron: Cron | undefined, attempt: number, context: Parameters<Cron['run']>[0]): Promise<RunEnd> {
  if (!cron) return { status: 'failed', message: 'this version of the daemon has no such job' }
  if (attempt > maxAttempts) return { status: 'failed', message: `its daemon stopped or died ${maxAttempts} times before its end` }
  try {
    return { status: 'succeeded', message: await cron.run(context) }
  } catch (error) {
    return { status: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

export const cronFailedKey = (jobKey: string): string => alertKey('jobs_stuck', `cron:${jobKey}`)

/** A cron whose next run comes too late for what this one did not do, or one of its jobs that is dead. */
export const cronFailed = (jobKey: string, reason: string): NewAlert => ({
  kind: 'jobs_stuck',
  key: cronFailedKey(jobKey),
  subject: jobKey,
  title: `The job ${jobKey} failed`,
  body:
    `${printable(reason).slice(0, 500)}\nWhat it has done stays, and nothing continues it before its next time.\n` +
    `Remove the cause, then run it: tenantry crons run ${jobKey}. The alert closes when it runs again.`,
  command: `tenantry crons history ${jobKey}`,
  standing: true,
})
