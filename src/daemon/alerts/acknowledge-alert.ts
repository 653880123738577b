import { sql } from 'kysely'
import type { AlertDetail } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAlert } from './alerts.repo.ts'
import type { AlertsDeps } from './deps.ts'
import { showAlert } from './show-alert.ts'

/**
 * Somebody is on it. What is looked at again and again stays quiet until it was over; of anything else the next occurrence is a new alert.
 * A second call changes nothing. Throws NOT_FOUND, CONFLICT when it is over.
 */
export const acknowledgeAlert = (
  { db, clock }: Pick<AlertsDeps, 'db' | 'clock'>,
  actor: Actor,
  { id }: { id: number },
): Promise<AlertDetail> =>
  db.transaction().execute(async (tx) => {
    const alert = await lockAlert(tx, id)
    if (alert.status === 'closed') throw problem('CONFLICT', `alert ${id} is over already: ${alert.closed_because ?? 'it was closed'}`)
    if (alert.status === 'open') {
      await tx
        .updateTable('alerts')
        .set({
          status: 'acknowledged',
          acknowledged_at: isoNow(clock),
          acknowledged_by: actorLabel(actor),
          open_key: alert.standing ? sql`open_key` : null,
        })
        .where('id', '=', id)
        .execute()
      await recordAudit(tx, clock, {
        actor,
        action: 'alert.acknowledged',
        subject: String(id),
        data: { kind: alert.kind, about: alert.subject },
      })
    }
    return showAlert({ db: tx }, { id })
  })
