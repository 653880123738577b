import { isOpened } from '../../core/boxes/index.ts'
import { type Proof, proveHealthy } from '../change/index.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

type Step = 'quick-probe' | 'check-rollback' | 'snapshot' | 'probe'

/** Proves that the box is healthy on the images of the update. Throws PROBE_FAILED. */
export const proveTarget = (run: UpdateRun, step: Step, more: Pick<Proof, 'besideLast'> = {}): Promise<void> => {
  const isOpen = isOpened(run.entries())
  return proveHealthy(run, {
    step,
    baseline: run.evidence().serve ?? run.evidence().recreate,
    images: Object.fromEntries(beforeOf(run).planned.map((service) => [service, run.payload.targets.services[service]])),
    direction: 'forward',
    isQuick: step === 'quick-probe',
    isOpen,
    ...more,
    // Without a fence the start opens the box, and no probe.
    wasGood: isOpen && run.payload.fence.mode !== 'none',
  })
}
