import { type Actor, type Clock, isoIn, isoNow, newId, problem, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, enqueueJob, type Tx } from '../db/index.ts'
import type { Cron } from '../feature/index.ts'
import { deleteRunsBefore, insertRun, lockCron, runningRun, servedUntil } from './cron-runs.repo.ts'
import type { CronRunTable } from './crons.tables.ts'
import { cronTopic } from './run-cron.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random }>

/** A run that starts later than this counts as missed. */
const graceMs = 60_000
const retentionMs = 90 * 24 * 60 * 60_000

/** Enqueues the runs that are due, each time it is called. Any number of replicas may do so; between due times it needs no statement. */
export function enqueueDueCrons(deps: Deps, crons: () => readonly Cron[]): () => Promise<void> {
  const nextAt = new Map<string, Date | null>()
  return async () => {
    for (const cron of crons()) {
      const now = deps.clock.now()
      const next = nextAt.get(cron.key)
      if (next === null || (next && next > now)) continue
      await enqueueDue(deps, cron)
      nextAt.set(cron.key, cron.nextAfter(now))
    }
  }
}

/**
 * Handles all due times of a cron, in one replica under the lock of the cron's row. Those without a running daemon are `missed`, and the cron
 * runs once instead; one during another run is `skipped`.
 */
const enqueueDue = ({ db, ...deps }: Deps, cron: Cron): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const now = deps.clock.now()
    const due = timesBetween(cron, await lockCron(tx, cron.key, now.toISOString()), now)
    const latest = due.at(-1)
    if (!latest) return
    await servedUntil(tx, cron.key, latest.toISOString())
    const isOnTime = now.getTime() - latest.getTime() <= graceMs
    for (const at of (isOnTime ? due.slice(0, -1) : due).map((time) => time.toISOString()))
      await insertRun(tx, { ...newRun(deps, cron), ...ended(at), occurrence: at, status: 'missed', message: 'no daemon ran at its time' })
    await deleteRunsBefore(tx, cron.key, isoIn(deps.clock, -retentionMs))
    const running = await runningRun(tx, cron.key)
    const occurrence = isOnTime ? latest.toISOString() : `after ${latest.toISOString()}`
    if (!running) return void (await enqueueRun({ ...deps, tx }, { ...newRun(deps, cron), occurrence }))
    const message = `the run of ${running.started_at} was still running`
    await insertRun(tx, { ...newRun(deps, cron), ...ended(now.toISOString()), occurrence, status: 'skipped', message })
  })

/** Enqueues a run by hand, and returns its id. Throws CONFLICT while one is running. */
export const enqueueManualRun = ({ db, ...deps }: Deps, actor: Actor, cron: Cron): Promise<string> =>
  db.transaction().execute(async (tx) => {
    await lockCron(tx, cron.key, isoNow(deps.clock))
    const running = await runningRun(tx, cron.key)
    if (running) throw problem('CONFLICT', `${cron.key} is running since ${running.started_at}. fix: wait until it finishes`)
    const run = newRun(deps, cron)
    await enqueueRun({ ...deps, tx }, run)
    await recordAudit(tx, deps.clock, { actor, action: 'cron.triggered', subject: cron.key, data: { runId: run.id } })
    return run.id
  })

async function enqueueRun({ tx, clock }: Readonly<{ tx: Tx; clock: Clock }>, run: CronRunTable): Promise<void> {
  const { id: runId, job_key: cron } = run
  await insertRun(tx, run)
  await enqueueJob(tx, clock, { topic: cronTopic, payload: { cron, runId }, queue: `cron:${cron}`, key: cron, pool: 'crons' })
}

function newRun({ clock, random }: Pick<Deps, 'clock' | 'random'>, { key }: Cron): CronRunTable {
  const id = newId(random, 'run')
  const start = { id, job_key: key, occurrence: id, status: 'running' as const, started_at: isoNow(clock) }
  return { ...start, finished_at: null, duration_ms: null, message: null }
}

const ended = (at: string) => ({ started_at: at, finished_at: at, duration_ms: 0 })

/** Missed due times recorded per cron; of more only the newest. */
const maxMissed = 100

/** The due times after `from` up to `to`, oldest first; of very many only the newest. */
function timesBetween(cron: Cron, from: Date, to: Date): Date[] {
  let found: Date[] = []
  for (let next = cron.nextAfter(from); next !== null && next <= to; next = cron.nextAfter(next)) {
    found.push(next)
    if (found.length > 2 * maxMissed) found = found.slice(-maxMissed)
  }
  return found.slice(-maxMissed)
}
