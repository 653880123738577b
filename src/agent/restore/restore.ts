import { type RestoreStep, restoreSaga, Service } from '../../core/boxes/index.ts'
import { beginSoftLogout } from '../boxes/index.ts'
import {
  acquireFence,
  type Baseline,
  type ChangeDeps,
  liftFence,
  proveHealthy,
  raiseFence,
  resultOf,
  runChange,
  startServices,
  stopAll,
  stopWriters,
} from '../change/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { switchBack, switchToRestored } from './exchange-files.ts'
import { fetchAll } from './fetch.ts'
import { load } from './load.ts'
import { keepPresentBox } from './pre-restore-snapshot.ts'
import { observeRestore, type RestoreRun } from './restore-run.ts'
import { closeRestore } from './result.ts'

/** The restore of a box on its own host. */
export const restore = (deps: ChangeDeps, steps: RestoreSteps = restoreStepsOfBox): CommandExecutor<'tenant-box.restore'> =>
  runChange(deps, {
    kind: 'tenant-box.restore',
    doing: 'restoring',
    sagaOf: () => restoreSaga,
    observe: observeRestore,
    steps,
    close: closeRestore,
    room: ({ fetch }) => fetch?.room,
  })

/** Each step may be called again after a kill at any point; the journal stores what it returns. */
export type RestoreSteps = Readonly<Record<RestoreStep, (run: RestoreRun) => Promise<unknown>>>

export const restoreStepsOfBox: RestoreSteps = {
  fetch: fetchAll,
  fence: (run) => {
    const { quarantinedBy } = resultOf(run, 'fetch')
    return quarantinedBy === null ? raiseFence(run) : acquireFence(run, quarantinedBy)
  },
  stop: stopWriters,
  keep: keepPresentBox,
  load,
  switch: switchToRestored,
  start: (run) => startAll(run, resultOf(run, 'fetch').snapshot.images.edge?.image),
  probe: (run) =>
    proveHealthy(run, {
      step: 'probe',
      baseline: run.evidence().start,
      images: resultOf(run, 'fetch').snapshot.images,
      direction: 'forward',
      isQuick: true,
    }),
  // The entry in the journal is the commit; it is written before the fence is lifted, and with it clients get the answers of the edge.
  commit: softenLogouts,
  'back-stop': stopAll,
  'back-switch': switchBack,
  'back-start': (run) => startAll(run, resultOf(run, 'fetch').images.edge?.image),
  'back-probe': (run) =>
    proveHealthy(run, {
      step: 'back-probe',
      baseline: run.evidence()['back-start'],
      images: resultOf(run, 'fetch').images,
      direction: 'rollback',
      isQuick: true,
    }),
  unfence: liftFence,
}

/** Without it the box serves all the same, but apps that logged in since the snapshot delete their keys. */
async function softenLogouts({ deps, box, context }: RestoreRun): Promise<{ softLogoutUntil: string | null }> {
  try {
    return { softLogoutUntil: await beginSoftLogout(deps, box) }
  } catch (error) {
    context.progress({ step: 'commit', detail: (error as Error).message })
    return { softLogoutUntil: null }
  }
}

/**
 * Brings all services to what the compose file says now. The edge stays unless its image or rules changed: while it is replaced, clients get a
 * refused connection instead of the fence's answer.
 */
async function startAll(run: RestoreRun, edgeImage: string | undefined): Promise<Baseline> {
  const { deps, box } = run
  const edge = (await deps.engine.containers(box.project)).find(({ service }) => service === 'edge')
  // The edge of a box that had lost its containers was only created.
  const isReplaced = edge?.image !== edgeImage || edge?.state !== 'running'
  const rulesChanged = run.evidence().switch?.edge ?? run.facts().begun.has('switch')
  if (rulesChanged && !isReplaced) {
    await deps.engine.stop(box.project, ['edge'])
    await deps.engine.start(box.project, ['edge'])
  }
  return startServices(run, { recreate: Service.options.filter((service) => service !== 'edge' || isReplaced) })
}
