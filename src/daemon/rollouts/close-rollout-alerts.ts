import type { AlertKind } from '../../core/alerts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'

/** Said of a rollout as a whole: they are over as soon as it goes on, or is over itself. What was said of its boxes stays. */
const moves = {
  started: ['emergency_created'],
  resumed: ['rollout_paused'],
  over: ['rollout_paused', 'emergency_created', 'emergency_started'],
} as const

export const closeRolloutAlerts = (tx: Tx, clock: Clock, rolloutId: string, what: keyof typeof moves): Promise<void> => {
  const kinds: readonly AlertKind[] = moves[what]
  return closeAlerts(tx, clock, { subject: rolloutId, kinds, because: what === 'over' ? 'the rollout is over' : `the rollout was ${what}` })
}
