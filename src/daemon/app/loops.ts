import { alertJobs } from '../alerts/index.ts'
import { checkpointAudit, checkpointHandler, checkpointTopic } from '../audit/index.ts'
import { rotateSigningKeys } from '../auth/index.ts'
import { deleteOldLogs, watchFences } from '../boxes/index.ts'
import { runScheduler } from '../crons/index.ts'
import { releaseOwnLease } from '../db/index.ts'
import { runEvents } from '../events/index.ts'
import { runBusPoll, runCommandSweep } from '../hosts/index.ts'
import { runJobs, watchJobs } from '../jobs/index.ts'
import { watchBudgets } from '../limits/index.ts'
import { startRolloutEngine } from '../rollouts/index.ts'
import { forgetLoginFailures } from '../sessions/index.ts'
import { runSnapshotTasks, runStoreMaintenance } from '../snapshots/index.ts'
import { spacesWork } from '../spaces/index.ts'
import { userResyncJobs, userSyncJobs } from '../users/index.ts'
import type { Rooms } from './rooms.ts'
import { type FeatureDeps, hourMs } from './wire-needs.ts'

const fencesEveryMs = 30_000
const logsEveryMs = 30_000
const failuresEveryMs = 60_000
const budgetsEveryMs = 10_000
const lateEveryMs = 60_000

/** Starts what goes on beside requests; each promise resolves once its loop has handed its work back. */
export function beginLoops(deps: FeatureDeps, holder: string, rooms: Rooms): readonly Promise<void>[] {
  const { db, clock, log, draining } = deps
  const { boxes, hosts, rollouts, snapshots, crons, events, budgets, audit } = rooms
  return [
    runBusPoll(hosts, draining),
    runCommandSweep(hosts, draining),
    runScheduler(crons, crons.jobs, draining),
    startRolloutEngine(rollouts, draining),
    runSnapshotTasks(snapshots, draining),
    runStoreMaintenance(snapshots, draining),
    runEvents(events, draining),
    runJobs({ db, clock, log, handlers: handlersOf(rooms) }, draining),
    repeat(deps, { ms: fencesEveryMs, what: 'watch over fences', work: () => watchFences({ ...boxes, log }) }),
    repeat(deps, { ms: logsEveryMs, what: 'forgetting logs of boxes', work: () => deleteOldLogs(deps, db) }),
    repeat(deps, { ms: failuresEveryMs, what: 'forgetting failed logins', work: () => forgetLoginFailures(deps) }),
    repeat(deps, { ms: lateEveryMs, what: 'watching jobs', work: () => watchJobs({ db, clock, owner: holder }) }).finally(() =>
      releaseOwnLease(deps, { name: 'outbox.watch', owner: holder }),
    ),
    repeat(deps, { ms: budgetsEveryMs, what: 'watch over budgets', work: () => watchBudgets(budgets) }).finally(() =>
      releaseOwnLease(deps, { name: 'limits.watch', owner: holder }),
    ),
    repeat(deps, { ms: hourMs, what: 'rotation of signing keys', work: () => rotateKeys(deps) }),
    repeat(deps, { ms: hourMs, what: 'audit checkpoint', work: () => checkpointAudit(audit) }),
  ]
}

const handlersOf = ({ audit, alerts, users, spaces }: Rooms) => ({
  [checkpointTopic]: checkpointHandler(audit),
  ...alertJobs(alerts),
  ...userSyncJobs(users),
  ...userResyncJobs(users),
  ...spacesWork(spaces),
})

async function rotateKeys(deps: FeatureDeps): Promise<void> {
  await rotateSigningKeys(deps, 'admin')
  await rotateSigningKeys(deps, 'platform')
}

type Repeated = Readonly<{ ms: number; what: string; work: () => Promise<unknown> }>

async function repeat({ clock, log, draining }: FeatureDeps, { ms, what, work }: Repeated): Promise<void> {
  while (!draining.aborted) {
    await work().catch((err) => log.warn({ err }, `${what} failed and will be tried again`))
    await clock.sleep(ms, draining)
  }
}
