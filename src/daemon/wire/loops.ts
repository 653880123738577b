import { alertWork } from '../alerts/index.ts'
import { checkpointAudit, checkpointHandler, checkpointTopic } from '../audit/index.ts'
import { rotateSigningKeys } from '../auth/index.ts'
import { forgetLogs, watchFences } from '../boxes/index.ts'
import { runScheduler } from '../crons/index.ts'
import { handBack, runOutbox } from '../db/index.ts'
import { runEvents } from '../events/index.ts'
import { runBusPoll, runCommandSweep } from '../hosts/index.ts'
import { watchBudgets } from '../limits/index.ts'
import { watchOutbox } from '../outbox/index.ts'
import { startRolloutEngine } from '../rollouts/index.ts'
import { forgetLoginFailures } from '../sessions/index.ts'
import { runSnapshotTurns, runStoreUpkeep } from '../snapshots/index.ts'
import { spacesWork } from '../spaces/index.ts'
import { restoreWork, usersWork } from '../users/index.ts'
import type { Rooms } from './rooms.ts'
import { hourMs, type WireNeeds } from './wire-needs.ts'

const fencesEveryMs = 30_000
const logsEveryMs = 30_000
const failuresEveryMs = 60_000
const budgetsEveryMs = 10_000
const lateEveryMs = 60_000

/** Starts what goes on beside requests; each promise resolves once its loop has handed its work back. */
export function beginLoops(needs: WireNeeds, holder: string, rooms: Rooms): readonly Promise<void>[] {
  const { db, clock, log, draining } = needs
  const { boxes, hosts, rollouts, snapshots, crons, events, budgets, audit } = rooms
  return [
    runBusPoll(hosts, draining),
    runCommandSweep(hosts, draining),
    runScheduler(crons, crons.jobs, draining),
    startRolloutEngine(rollouts, draining),
    runSnapshotTurns(snapshots, draining),
    runStoreUpkeep(snapshots, draining),
    runEvents(events, draining),
    runOutbox({ db, clock, log, handlers: handlersOf(rooms) }, draining),
    repeat(needs, { ms: fencesEveryMs, what: 'watch over fences', work: () => watchFences({ ...boxes, log }) }),
    repeat(needs, { ms: logsEveryMs, what: 'forgetting logs of boxes', work: () => forgetLogs(needs, db) }),
    repeat(needs, { ms: failuresEveryMs, what: 'forgetting failed logins', work: () => forgetLoginFailures(needs) }),
    repeat(needs, { ms: lateEveryMs, what: 'watch over follow-up work', work: () => watchOutbox({ db, clock, holder }) }).finally(() =>
      handBack(needs, { name: 'outbox.watch', holder }),
    ),
    repeat(needs, { ms: budgetsEveryMs, what: 'watch over budgets', work: () => watchBudgets(budgets) }).finally(() =>
      handBack(needs, { name: 'limits.watch', holder }),
    ),
    repeat(needs, { ms: hourMs, what: 'rotation of signing keys', work: () => rotateKeys(needs) }),
    repeat(needs, { ms: hourMs, what: 'audit checkpoint', work: () => checkpointAudit(audit) }),
  ]
}

const handlersOf = ({ audit, alerts, users, spaces }: Rooms) => ({
  [checkpointTopic]: checkpointHandler(audit),
  ...alertWork(alerts),
  ...usersWork(users),
  ...restoreWork(users),
  ...spacesWork(spaces),
})

async function rotateKeys(needs: WireNeeds): Promise<void> {
  await rotateSigningKeys(needs, 'admin')
  await rotateSigningKeys(needs, 'platform')
}

type Repeated = Readonly<{ ms: number; what: string; work: () => Promise<unknown> }>

async function repeat({ clock, log, draining }: WireNeeds, { ms, what, work }: Repeated): Promise<void> {
  while (!draining.aborted) {
    await work().catch((err) => log.warn({ err }, `${what} failed and will be tried again`))
    await clock.sleep(ms, draining)
  }
}
