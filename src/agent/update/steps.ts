import type { UpdateStep } from '../../core/boxes/index.ts'
import { applyMigrations } from '../boxes/index.ts'
import { liftFence, proveHealthy, raiseFence, startServices, stopAll, stopWriters } from '../change/index.ts'
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
  stop: stopWriters,
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
  'restore-stop': stopAll,
  'restore-data': restoreData,
  'restore-start': async (run) => {
    if (run.facts().begun.has('recreate')) return startServices(run, { recreate: beforeOf(run).planned })
    await switchBack(run)
    return startServices(run, { recreate: [] })
  },
  'restore-probe': (run) =>
    proveHealthy(run, {
      step: 'restore-probe',
      baseline: run.evidence()['restore-start'],
      images: beforeOf(run).containers,
      direction: 'rollback',
    }),
}

const prove = (run: UpdateRun, step: 'first-ok' | 'probe'): Promise<void> =>
  proveHealthy(run, {
    step,
    baseline: run.evidence().serve ?? run.evidence().recreate,
    images: Object.fromEntries(beforeOf(run).planned.map((service) => [service, run.payload.targets.services[service]])),
    direction: 'forward',
  })

const migrate = (run: UpdateRun): Promise<void> =>
  applyMigrations(run.deps, { ...run.context, signal: run.signal }, run.box, beforeOf(run).migrations ?? [])
