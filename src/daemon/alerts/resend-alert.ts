import { sql } from 'kysely'
import type { AlertDetail } from '../../core/alerts/index.ts'
import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { type AlertRow, lockAlert } from './alerts.repo.ts'
import type { AlertsDeps } from './deps.ts'
import { noChannels } from './no-channels.ts'
import { showAlert } from './show-alert.ts'
import { makeDeliveries, sendLater } from './tell-alert.ts'

type Deps = Pick<AlertsDeps, 'db' | 'clock' | 'channels'>
type Wanted = Readonly<{ id: number; which: 'dead' | 'all' }>

/**
 * `dead`: what was given up is tried again, each under its old id. `all`: new messages to every place that is set now.
 * Throws NOT_FOUND, CONFLICT when nothing is dead, CONFIG when nobody is set.
 */
export const resendAlert = (deps: Deps, actor: Actor, { id, which }: Wanted): Promise<AlertDetail> =>
  deps.db.transaction().execute(async (tx) => {
    const alert = await lockAlert(tx, id)
    await (which === 'dead' ? revive(deps, tx, alert) : tellAnew(deps, tx, alert))
    await recordAudit(tx, deps.clock, { actor, action: 'alert.resent', subject: String(id), data: { which, kind: alert.kind } })
    return showAlert({ db: tx }, { id })
  })

async function revive({ clock }: Deps, tx: Tx, { id }: AlertRow): Promise<void> {
  const revived = await tx
    .updateTable('alert_deliveries')
    .set({ status: 'pending', attempts: 0 })
    .where('alert_id', '=', id)
    .where('status', '=', 'dead')
    .returning(['id', 'channel', 'target'])
    .execute()
  if (revived.length === 0)
    throw problem('CONFLICT', `no message of alert ${id} was given up: \`tenantry alerts resend ${id} --all\` sends it anew`)
  for (const message of revived) await sendLater(tx, clock, message)
}

async function tellAnew(deps: Deps, tx: Tx, alert: AlertRow): Promise<void> {
  if (deps.channels.length === 0) throw noChannels()
  const told = alert.told + 1
  await tx
    .updateTable('alerts')
    .set({ told: sql`told + 1`, told_at: isoNow(deps.clock) })
    .where('id', '=', alert.id)
    .execute()
  await makeDeliveries(deps, tx, { ...alert, told })
}
