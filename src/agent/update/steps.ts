import type { UpdateStep } from '../../core/boxes/index.ts'
import { clearDump } from '../backup/index.ts'
import { applyMigrations } from '../boxes/index.ts'
import { type Baseline, liftFence, proveHealthy, raiseFence, startServices, stopServices } from '../guarded/index.ts'
import { coldCopy } from './cold-copy.ts'
import { switchBack, switchToTarget } from './compose-switch.ts'
import { getReady } from './get-ready.ts'
import { restoreData } from './restore-data.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/** One executor per step. Each may be called again after a kill at any point; what it answers is kept in the journal. */
export type UpdateSteps = Readonly<Record<UpdateStep, (run: UpdateRun) => Promise<unknown>>>

export const updateSteps: UpdateSteps = {
  prefetch: getReady,
  fence: raiseFence,
  stop: async (run) => {
    // Asked for while nothing has stopped yet: an agent that was restarted has lost it, and the daemon may be away.
    await run.repository()
    await stopServices(run, ['synapse', 'minio'])
    await clearDump(run.needs, run.context.commandId)
  },
  snapshot: takeSnapshot,
  'cold-copy': coldCopy,
  rewrite: async (run) => ({ backup: await switchToTarget(run) }),
  recreate: (run) => {
    const starting = { recreate: beforeOf(run).planned, onceDatabaseRuns: () => migrate(run) }
    // Without a fence the chat server is what opens the box: its start is a line of its own in the journal.
    return startServices(run, run.payload.fence.mode === 'none' ? { ...starting, services: ['postgres', 'minio'] } : starting)
  },
  serve: (run) => startServices(run, { recreate: beforeOf(run).planned }),
  'first-ok': (run) => prove({ ...run, payload: { ...run.payload, probe: { ...run.payload.probe, consecutive: 1 } } }, 'first-ok'),
  probe: (run) => prove(run, 'probe'),
  // The commit is its own line in the journal; it stands before the fence is lifted.
  commit: async () => undefined,
  unfence: liftFence,
  'restore-stop': (run) => stopServices(run, ['synapse', 'minio', 'postgres']),
  'restore-data': restoreData,
  'restore-start': async (run) => {
    if (run.facts().begun.has('recreate')) return startServices(run, { recreate: beforeOf(run).planned })
    await switchBack(run)
    return startServices(run, { recreate: [] })
  },
  'restore-probe': (run) =>
    proveHealthy(run, {
      step: 'restore-probe',
      baseline: baselineOf(run, 'restore-start'),
      digests: formerDigests(run),
      patienceMs: 2 * run.payload.probe.timeoutMs,
    }),
}

const prove = (run: UpdateRun, step: 'first-ok' | 'probe'): Promise<void> =>
  proveHealthy(run, {
    step,
    baseline: run.evidence().serve ?? baselineOf(run, 'recreate'),
    digests: targetDigests(run),
    patienceMs: run.payload.deadlineMs - run.elapsedMs(),
  })

const migrate = (run: UpdateRun): Promise<void> =>
  applyMigrations(run.needs, { ...run.context, signal: run.signal }, run.box, beforeOf(run).migrations ?? [])

const baselineOf = (run: UpdateRun, step: 'recreate' | 'restore-start'): Baseline => run.evidence()[step] ?? {}

function targetDigests(run: UpdateRun): Record<string, string> {
  const targets = beforeOf(run).planned.map((service) => [service, run.payload.targets.services[service]?.digest] as const)
  return Object.fromEntries(targets.filter((pair): pair is [(typeof pair)[0], string] => pair[1] !== undefined))
}

function formerDigests(run: UpdateRun): Record<string, string> {
  const former = Object.entries(beforeOf(run).containers).map(([service, { digest }]) => [service, digest] as const)
  return Object.fromEntries(former.filter((pair): pair is [string, string] => pair[1] !== null))
}
