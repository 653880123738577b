import { isRolledBackByImages, isTouched, type UpdateStep, updateSaga } from '../../core/boxes/index.ts'
import { applyMigrations } from '../boxes/index.ts'
import {
  assertMounted,
  type ChangeDeps,
  keepFailureLogs,
  liftFence,
  proveHealthy,
  raiseFence,
  runChange,
  startServices,
  stopAll,
  stopServices,
  stopWriters,
} from '../change/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { checkRollback, confirmRollback, proveQuickly } from './check-rollback.ts'
import { coldCopy } from './cold-copy.ts'
import { completeHotCopy, isBackupOpen, makeHotCopy } from './hot-copy.ts'
import { prepareUpdate } from './prepare.ts'
import { proveTarget } from './prove-target.ts'
import { restoreData } from './restore-data.ts'
import { closeUpdate } from './result.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { beforeOf, isHot, isUpgrade, nextVolume, observeUpdate, switchBack, switchToTarget, type UpdateRun } from './update-run.ts'
import { loadUpgrade } from './upgrade.ts'

/** The guarded update. */
export const update = (deps: ChangeDeps, steps: UpdateSteps = updateSteps): CommandExecutor<'tenant-box.update'> =>
  runChange(deps, {
    kind: 'tenant-box.update',
    doing: 'updating',
    sagaOf: ({ fence }) => updateSaga(fence),
    observe: async (run) => ({ ...(await observeUpdate(run)), isLogKept: isBackupOpen(run) }),
    steps,
    failed: async (run) => {
      if (isTouched(run.facts())) await keepFailureLogs(run, beforeOf(run).planned)
    },
    close: closeUpdate,
    room: ({ prefetch }) => prefetch?.room,
  })

/** Each step may be called again after a kill at any point; the journal stores what it returns. */
export type UpdateSteps = Readonly<Record<UpdateStep, (run: UpdateRun) => Promise<unknown>>>

export const updateSteps: UpdateSteps = {
  prefetch: prepareUpdate,
  'hot-copy': makeHotCopy,
  fence: raiseFence,
  stop: stopWriters,
  snapshot: takeSnapshot,
  'cold-copy': (run) => (isHot(run) ? completeHotCopy(run) : coldCopy(run)),
  upgrade: loadUpgrade,
  rewrite: async (run) => ({ backup: await switchToTarget(run) }),
  recreate: (run) => {
    const starting = { recreate: beforeOf(run).planned, onceDatabaseRuns: () => prepareDatabase(run) }
    // Without a fence, starting the chat server is what opens the box: the step `serve` does it.
    return startServices(run, run.payload.fence.mode === 'none' ? { ...starting, services: ['postgres', 'minio'] } : starting)
  },
  serve: (run) => startServices(run, { recreate: beforeOf(run).planned }),
  'quick-probe': proveQuickly,
  'check-rollback': checkRollback,
  probe: (run) => proveTarget(run, 'probe'),
  // The entry in the journal is the commit; it is written before the fence is lifted.
  commit: async () => undefined,
  unfence: liftFence,
  'confirm-rollback': confirmRollback,
  refence: raiseFence,
  // A rollback by images keeps the database, so only what it replaces is stopped.
  'restore-stop': (run) => (isRolledBackByImages(run.facts()) ? stopServices(run, ['synapse', ...replacedDatabase(run)]) : stopAll(run)),
  'restore-data': restoreData,
  'restore-start': async (run) => {
    if (isRolledBackByImages(run.facts())) await switchBack(run)
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
      // The former version with the former data: quick probes are proof enough.
      isQuick: true,
    }),
}

const replacedDatabase = (run: UpdateRun): 'postgres'[] => (beforeOf(run).planned.includes('postgres') ? ['postgres'] : [])

/** Before the chat server starts. Another major version has only what was loaded and compared. */
async function prepareDatabase(run: UpdateRun): Promise<void> {
  const { database, migrations = [] } = beforeOf(run)
  if (isUpgrade(run)) await assertMounted(run, nextVolume(run, database.volume))
  await applyMigrations({ ...run.deps, ...run.context, signal: run.signal }, run.box, migrations)
}
