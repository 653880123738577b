import { type RestoreStep, Service } from '../../core/boxes/index.ts'
import { clearDump } from '../backup/index.ts'
import { type Baseline, liftFence, proveHealthy, raiseFence, startServices, stopServices, takeOverFence } from '../guarded/index.ts'
import { switchBack, switchToRestored } from './exchange.ts'
import { fetchAll } from './fetch.ts'
import { keep } from './keep.ts'
import { load } from './load.ts'
import { type Images, leftBy, type RestoreRun } from './restore-run.ts'

/** One executor per step. Each may be called again after a kill at any point; what it answers is kept in the journal. */
export type RestoreSteps = Readonly<Record<RestoreStep, (run: RestoreRun) => Promise<unknown>>>

export const restoreStepsOfBox: RestoreSteps = {
  fetch: fetchAll,
  fence: (run) => {
    const { restedUnder } = leftBy(run, 'fetch')
    return restedUnder === null ? raiseFence(run) : takeOverFence(run, restedUnder)
  },
  stop: async (run) => {
    // Asked for while nothing has stopped yet: an agent that was restarted has lost it, and the daemon may be away.
    await run.repository()
    await stopServices(run, ['synapse', 'minio'])
    await clearDump(run.needs, run.context.commandId)
  },
  keep,
  load,
  switch: switchToRestored,
  start: (run) => startAll(run, leftBy(run, 'fetch').snapshot.images.edge?.image),
  probe: (run) =>
    proveHealthy(run, {
      step: 'probe',
      baseline: baselineOf(run, 'start'),
      digests: digestsOf(leftBy(run, 'fetch').snapshot.images),
      patienceMs: run.payload.deadlineMs - run.elapsedMs(),
    }),
  // The commit is its own line in the journal; it stands before the fence is lifted.
  commit: async () => undefined,
  'back-stop': (run) => stopServices(run, ['synapse', 'minio', 'postgres']),
  'back-switch': switchBack,
  'back-start': (run) => startAll(run, leftBy(run, 'fetch').images.edge?.image),
  'back-probe': (run) =>
    proveHealthy(run, {
      step: 'back-probe',
      baseline: baselineOf(run, 'back-start'),
      digests: digestsOf(leftBy(run, 'fetch').images),
      patienceMs: 2 * run.payload.probe.timeoutMs,
    }),
  unfence: liftFence,
}

/**
 * Brings everything to what the compose file says now. The edge stays as it is unless its image or its rules changed: while it is replaced,
 * clients find nobody instead of a fence.
 */
async function startAll(run: RestoreRun, edgeImage: string | undefined): Promise<Baseline> {
  const { needs, box } = run
  const edge = (await needs.engine.containers(box.project)).find(({ service }) => service === 'edge')
  const replaced = edge?.image !== edgeImage
  const rules = run.evidence().switch?.edge ?? run.facts().begun.has('switch')
  if (rules && !replaced) {
    await needs.engine.stop(box.project, ['edge'])
    await needs.engine.start(box.project, ['edge'])
  }
  return startServices(run, { recreate: Service.options.filter((service) => service !== 'edge' || replaced) })
}

const baselineOf = (run: RestoreRun, step: 'start' | 'back-start'): Baseline => run.evidence()[step] ?? {}

const digestsOf = (images: Images): Record<string, string> =>
  Object.fromEntries(Object.entries(images).flatMap(([service, { digest }]) => (digest === null ? [] : [[service, digest]])))
