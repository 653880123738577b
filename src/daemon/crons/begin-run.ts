import type { CronRunStatus } from '../../core/crons/index.ts'
import { type Actor, type Clock, isoIn, isoNow, newId, problem, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, WithTx } from '../db/index.ts'
import type { Cron } from '../feature/index.ts'
import { deleteRunsBefore, insertRun, lockJob, runningRun, servedUntil } from './runs.repo.ts'

export type RunDeps = Readonly<{ db: Db; clock: Clock; random: Random; owner: string }>

/** A run that is ours to execute. */
export type BegunRun = Readonly<{ id: string; startedAt: string }>

export const leaseMs = 60_000
/** A run that starts later than this counts as missed. */
const graceMs = 60_000
const retentionMs = 90 * 24 * 60 * 60_000

/**
 * Handles all due occurrences of a job, in one replica under the lock of the job's row. Occurrences without a running daemon are `missed`, and
 * the job runs once instead; one during another run is `skipped`.
 */
export const beginDueRun = ({ db, ...deps }: RunDeps, job: Cron): Promise<BegunRun | undefined> =>
  db.transaction().execute(async (tx) => {
    const now = deps.clock.now()
    const due = occurrencesBetween(job, await lockJob(tx, job.key), now)
    const latest = due.at(-1)
    if (!latest) return undefined
    await servedUntil(tx, job.key, latest.toISOString())
    const isOnTime = now.getTime() - latest.getTime() <= graceMs
    for (const at of isOnTime ? due.slice(0, -1) : due) await recordMissed({ ...deps, tx }, job, at)
    await deleteRunsBefore(tx, job.key, isoIn(deps.clock, -retentionMs))
    const running = await runningRun(tx, job.key, isoNow(deps.clock))
    const occurrence = isOnTime ? latest.toISOString() : `after ${latest.toISOString()}`
    if (!running) return begin({ ...deps, tx }, job, occurrence)
    await note({ ...deps, tx }, job, { occurrence, status: 'skipped', message: `the run of ${running.started_at} was still running` })
    return undefined
  })

/** Begins a run by hand. Throws CONFLICT while one is running. */
export const beginManualRun = ({ db, ...deps }: RunDeps, actor: Actor, job: Cron): Promise<BegunRun> =>
  db.transaction().execute(async (tx) => {
    await lockJob(tx, job.key)
    const running = await runningRun(tx, job.key, isoNow(deps.clock))
    if (running) throw problem('CONFLICT', `${job.key} is running since ${running.started_at}. fix: wait until it finishes`)
    const run = await begin({ ...deps, tx }, job, undefined)
    await recordAudit(tx, deps.clock, { actor, action: 'cron.triggered', subject: job.key, data: { runId: run.id } })
    return run
  })

type WithoutDb = Omit<RunDeps, 'db'>

async function begin({ clock, random, owner, tx }: WithTx<WithoutDb>, { key }: Cron, occurrence: string | undefined): Promise<BegunRun> {
  const [id, startedAt] = [newId(random, 'run'), isoNow(clock)]
  await insertRun(tx, {
    ...emptyRun,
    id,
    job_key: key,
    occurrence: occurrence ?? id,
    status: 'running',
    started_at: startedAt,
    holder: owner,
    lease_until: isoIn(clock, leaseMs),
  })
  return { id, startedAt }
}

const emptyRun = { finished_at: null, duration_ms: null, message: null, holder: null, lease_until: null } as const

const recordMissed = (deps: WithTx<WithoutDb>, job: Cron, at: Date) =>
  note(deps, job, {
    occurrence: at.toISOString(),
    status: 'missed',
    at: at.toISOString(),
    message: 'no daemon ran at its time',
  })

type Note = Readonly<{ occurrence: string; status: CronRunStatus; message: string; at?: string }>

async function note({ clock, random, tx }: WithTx<WithoutDb>, { key }: Cron, { occurrence, status, message, at }: Note): Promise<void> {
  const started = at ?? isoNow(clock)
  const ended = { finished_at: started, duration_ms: 0, message }
  await insertRun(tx, { ...emptyRun, ...ended, id: newId(random, 'run'), job_key: key, occurrence, status, started_at: started })
}

/** Missed occurrences recorded per cron; of more only the newest. */
const maxMissed = 100

/** The occurrences after `from` up to `to`, oldest first; of very many only the newest. */
function occurrencesBetween(job: Cron, from: Date, to: Date): Date[] {
  let found: Date[] = []
  for (let next = job.nextAfter(from); next !== null && next <= to; next = job.nextAfter(next)) {
    found.push(next)
    if (found.length > 2 * maxMissed) found = found.slice(-maxMissed)
  }
  return found.slice(-maxMissed)
}
