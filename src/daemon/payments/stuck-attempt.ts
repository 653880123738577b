import { isPaymentFailure } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import { findItem } from '../marketplace/index.ts'
import { installationRejected, installationRejectedKey, refundStuck, refundStuckKey } from './alerts.ts'
import type { Attempt } from './attempts.repo.ts'
import type { Installer, PaymentsDeps } from './deps.ts'

type Stuck = Readonly<{ attempt: Attempt; actor: Installer; error: unknown }>

/** A failed installation that the provider refuses to pay back: it is tried again, but only a person can remove the cause. */
export async function reportStuck({ db, clock }: PaymentsDeps, { attempt, actor, error }: Stuck): Promise<void> {
  if (!isPaymentFailure(error) || error.isTransient) return
  await db.transaction().execute(async (tx) => {
    const item = await findItem(tx, attempt.itemId)
    const facts = { slug: actor.tenantSlug, itemName: item?.name ?? attempt.itemId, attemptId: attempt.id, reason: error.message }
    await raiseAlert(tx, clock, refundStuck(facts))
  })
}

/** The attempt has ended: what was paid was paid back. */
export const closeStuck = (tx: Tx, { clock }: Pick<PaymentsDeps, 'clock'>, { attempt, actor }: Omit<Stuck, 'error'>): Promise<unknown> =>
  closeAlerts(tx, clock, { subject: actor.tenantSlug, keys: [refundStuckKey(attempt.id)], because: 'it was paid back' })

/** The provider rejects a request of an installation: the tenant can change nothing about it. */
export const reportRejected = ({ db, clock }: PaymentsDeps, { attempt, actor, error }: Stuck & Readonly<{ error: Error }>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const item = await findItem(tx, attempt.itemId)
    const facts = { itemId: attempt.itemId, itemName: item?.name ?? attempt.itemId, slug: actor.tenantSlug, reason: error.message }
    await raiseAlert(tx, clock, installationRejected(facts))
  })

/** The item was charged and installed. */
export const closeRejected = (tx: Tx, { clock }: Pick<PaymentsDeps, 'clock'>, { itemId }: Pick<Attempt, 'itemId'>): Promise<unknown> =>
  closeAlerts(tx, clock, { subject: 'billing', keys: [installationRejectedKey(itemId)], because: 'the item was installed' })
