import { type RestoreStep, Service } from '../../core/boxes/index.ts'
import {
  acquireFence,
  type Baseline,
  liftFence,
  proveHealthy,
  raiseFence,
  resultOf,
  startServices,
  stopAll,
  stopWriters,
} from '../change/index.ts'
import { switchBack, switchToRestored } from './exchange.ts'
import { fetchAll } from './fetch.ts'
import { keep } from './keep.ts'
import { load } from './load.ts'
import type { RestoreRun } from './restore-run.ts'

/** One executor per step. Each may be called again after a kill at any point; what it answers is kept in the journal. */
export type RestoreSteps = Readonly<Record<RestoreStep, (run: RestoreRun) => Promise<unknown>>>

export const restoreStepsOfBox: RestoreSteps = {
  fetch: fetchAll,
  fence: (run) => {
    const { restedUnder } = resultOf(run, 'fetch')
    return restedUnder === null ? raiseFence(run) : acquireFence(run, restedUnder)
  },
  stop: stopWriters,
  keep,
  load,
  switch: switchToRestored,
  start: (run) => startAll(run, resultOf(run, 'fetch').snapshot.images.edge?.image),
  probe: (run) =>
    proveHealthy(run, {
      step: 'probe',
      baseline: run.evidence().start,
      images: resultOf(run, 'fetch').snapshot.images,
      direction: 'forward',
    }),
  // The commit is its own line in the journal; it stands before the fence is lifted.
  commit: async () => undefined,
  'back-stop': stopAll,
  'back-switch': switchBack,
  'back-start': (run) => startAll(run, resultOf(run, 'fetch').images.edge?.image),
  'back-probe': (run) =>
    proveHealthy(run, {
      step: 'back-probe',
      baseline: run.evidence()['back-start'],
      images: resultOf(run, 'fetch').images,
      direction: 'rollback',
    }),
  unfence: liftFence,
}

/**
 * Brings everything to what the compose file says now. The edge stays as it is unless its image or its rules changed: while it is replaced,
 * clients find nobody instead of a fence.
 */
async function startAll(run: RestoreRun, edgeImage: string | undefined): Promise<Baseline> {
  const { deps, box } = run
  const edge = (await deps.engine.containers(box.project)).find(({ service }) => service === 'edge')
  const replaced = edge?.image !== edgeImage
  const rules = run.evidence().switch?.edge ?? run.facts().begun.has('switch')
  if (rules && !replaced) {
    await deps.engine.stop(box.project, ['edge'])
    await deps.engine.start(box.project, ['edge'])
  }
  return startServices(run, { recreate: Service.options.filter((service) => service !== 'edge' || replaced) })
}
