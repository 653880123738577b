import { type BoardState, openBoard, type Phase, type RolloutAction, type RolloutDetail } from '../../../src/core/rollouts/index.ts'
import { anAction, aRolloutDetail, at } from '../../support/records.ts'

/** A fleet during a rollout: canary done, free_5 running. */
export function fleetActions(): RolloutAction[] {
  const waiting = (phase: Phase, count: number) =>
    Array.from({ length: count }, (_, n) => anAction(`${phase.replace('_', '-')}-${n + 1}`, { phase }))
  return [
    anAction('anna-schule', {
      phase: 'canary',
      status: 'succeeded',
      startedAt: at('02:00:00'),
      finishedAt: at('02:04:00'),
      durationMs: 240_000,
      fencedMs: 150_000,
    }),
    anAction('kita-nord', {
      phase: 'free_5',
      status: 'probing',
      startedAt: at('02:04:00'),
      progress: { step: 'probe', detail: '2 of 3 good', at: at('02:06:30') },
    }),
    anAction('hort-sued', {
      phase: 'free_5',
      status: 'pulling',
      startedAt: at('02:05:30'),
      progress: { step: 'pull', percent: 40, at: at('02:06:30') },
    }),
    ...waiting('free_100', 14),
    ...waiting('pro', 4),
  ]
}

export const fleet = (given: Partial<RolloutDetail> = {}): BoardState =>
  openBoard(aRolloutDetail(fleetActions(), { status: 'free_5', ...given }))

/** The same fleet after a box failed its probes and the phase paused. */
export const pausedFleet = (): BoardState =>
  openBoard(
    aRolloutDetail(
      fleetActions().map((action) =>
        action.tenantSlug === 'kita-nord'
          ? {
              ...action,
              status: 'rolled_back',
              rolledBack: true,
              progress: null,
              finishedAt: at('02:06:40'),
              durationMs: 160_000,
              error: { code: 'PROBE_FAILED', message: 'chat sync: the event that was sent was not read back within 10 s' },
            }
          : action.tenantSlug === 'hort-sued'
            ? { ...action, status: 'succeeded', progress: null, finishedAt: at('02:06:50'), durationMs: 80_000 }
            : action,
      ),
      {
        status: 'paused',
        previousStatus: 'free_5',
        pauseReason: 'phase free_5 stopped: kita-nord was rolled back after its probes failed',
      },
    ),
  )
