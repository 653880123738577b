import { manyAlerts, mostOfAKind, standsAlone } from '../../core/alerts/index.ts'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import { enqueueOutbox, type OutboxHandler, type Tx } from '../db/index.ts'
import type { AlertRow } from './alerts.repo.ts'
import type { AlertsDeps } from './deps.ts'
import { raiseAlert } from './raise-alert.ts'

/** The outbox topic on which an alert that is not told by itself is counted in the message for all of its kind. */
export const foldTopic = 'alerts.fold'

/** A thousand boxes that fail at once would bury the message that matters, and hold up all others for hours. Replicas may tell one more each. */
export async function isOneOfMany(tx: Tx, clock: Clock, { id, kind, key }: AlertRow): Promise<boolean> {
  if (standsAlone({ kind, key })) return false
  const { count } = await tx
    .selectFrom('alerts')
    .select(tx.fn.countAll().as('count'))
    .where('kind', '=', kind)
    .where('told_at', '>', isoIn(clock, -mostOfAKind.withinMs))
    .where('id', '!=', id)
    .executeTakeFirstOrThrow()
  return Number(count) >= mostOfAKind.count
}

/** In a transaction of its own: whoever holds one alert must not wait for another. */
export const fold = (tx: Tx, clock: Clock, { kind, severity }: AlertRow): Promise<void> =>
  enqueueOutbox(tx, clock, { topic: foldTopic, payload: { kind, severity } })

export const foldHandler =
  ({ db, clock }: Pick<AlertsDeps, 'db' | 'clock'>): OutboxHandler =>
  async (payload) => {
    const alert = manyAlerts(payload as Pick<AlertRow, 'kind' | 'severity'>)
    await db.transaction().execute(async (tx) => void (await raiseAlert(tx, clock, alert)))
  }
