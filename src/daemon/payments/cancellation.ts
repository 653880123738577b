import { isoIn, isoNow } from '../../core/kit/index.ts'
import { isLive } from '../../core/payments/index.ts'
import { enqueueJob, type JobHandler, type WithTx } from '../db/index.ts'
import { findItem, findSubscription, lockSubscription, type SubscriptionRecord, storeSubscription } from '../marketplace/index.ts'
import { openAttempt } from './attempts.repo.ts'
import type { PaymentsDeps } from './deps.ts'
import { endRenewed, isRenewed } from './end-renewed.ts'
import { lookAgainMs, paymentOfItem, runAlone } from './run-alone.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'random' | 'provider'>

export const cancellationTopic = 'payments.cancellation'

/** As a cancellation, for an active subscription of a withdrawn item. A former replica lets those continue, so this topic is unknown to it. */
export const withdrawalTopic = 'payments.withdrawal'

type Topic = typeof cancellationTopic | typeof withdrawalTopic

/** The topic of the job that lets live subscriptions of an item follow its withdrawal. */
export const endsTopic = 'payments.item-ends'

/** Enqueues one job for each live subscription of an item that was withdrawn, or is published again. */
export const followEnds =
  (deps: Pick<Deps, 'db' | 'clock'>): JobHandler =>
  async (payload) => {
    const { itemId } = payload as { itemId: string }
    const rows = await deps.db
      .selectFrom('marketplace_subscriptions')
      .select('payment_subscription_id as id')
      .where('item_id', '=', itemId)
      .where('status', '=', 'active')
      .where('payment_subscription_id', 'is not', null)
      .execute()
    await deps.db.transaction().execute(async (tx) => {
      for (const { id } of rows) if (id !== null) await enqueueCancellation({ ...deps, tx }, { id, topic: withdrawalTopic })
    })
  }

/** The provider finalises the invoice of a new period about an hour after its begin. */
const draftMs = 60 * 60_000

type Enqueued = Readonly<{ id: string; topic: Topic; runAt?: string }>

export const enqueueCancellation = ({ clock, tx }: WithTx<Pick<Deps, 'clock'>>, { id, topic, runAt }: Enqueued): Promise<void> =>
  enqueueJob(tx, clock, {
    topic,
    payload: { id },
    queue: `payments:${id}`,
    pool: 'payments',
    ...(runAt === undefined ? {} : { runAt }),
  })

/**
 * Makes the subscription at the provider end with its period if the tenant uninstalled the item or the vendor withdrew it, and continue if not. It follows the row, so that an
 * uninstall and an installation in any order leave both alike. A period that began after the uninstallation is paid back.
 */
export const followCancellation =
  (deps: Deps, topic: Topic): JobHandler =>
  async (payload) => {
    const { id } = payload as { id: string }
    const of = await placeOf(deps, id)
    if (!of) return
    // An installation that takes the subscription back would be ended with it.
    const next = (await runAlone(deps, paymentOfItem(of), () => follow(deps, id, of))) ?? { inMs: lookAgainMs }
    if (next === 'done') return
    const runAt = isoIn(deps.clock, next.inMs)
    await deps.db.transaction().execute((tx) => enqueueCancellation({ ...deps, tx }, { id, topic, runAt }))
  }

type Place = Readonly<{ tenantId: string; itemId: string }>

/** Whose subscription it is; a subscription without a row names it itself. */
async function placeOf({ db, provider }: Deps, id: string): Promise<Place | undefined> {
  const row = await findSubscription(db, { paymentSubscriptionId: id })
  if (row) return row
  const { svc_tenant: tenantId, svc_item: itemId } = (await provider.getSubscription(id))?.metadata ?? {}
  return tenantId && itemId ? { tenantId, itemId } : undefined
}

/** `inMs`: when the job runs again. */
type Next = 'done' | Readonly<{ inMs: number }>

async function follow(deps: Deps, id: string, of: Place): Promise<Next> {
  const { db, clock, provider } = deps
  const found = await provider.getSubscription(id)
  if (!found || !isLive(found)) return 'done'
  if (await openAttempt(db, of)) return { inMs: lookAgainMs }
  const row = await findSubscription(db, { paymentSubscriptionId: id })
  // Without a row the item was installed again with another subscription, as for a tenant with another customer.
  const cancelAtPeriodEnd = row?.status !== 'active' || (await findItem(db, row.itemId))?.withdrawnAt !== null
  if (found.cancelAtPeriodEnd !== cancelAtPeriodEnd)
    await provider.updateSubscription({ key: `cancellation:${id}:${cancelAtPeriodEnd}:${isoNow(clock)}`, id, cancelAtPeriodEnd })
  if (!row) return 'done'
  if (isRenewed({ row, found })) return (await endRenewed(deps, { row, found })) ? 'done' : { inMs: draftMs }
  return (await storePaidUntil(deps, id, { row, paidUntil: found.currentPeriodEnd })) ? 'done' : { inMs: 0 }
}

type Followed = Readonly<{ row: SubscriptionRecord; paidUntil: string }>

/** False if the row changed meanwhile, or an installation began: the provider may have to follow again. */
const storePaidUntil = ({ db }: Deps, id: string, { row, paidUntil }: Followed): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const locked = await lockSubscription(tx, { paymentSubscriptionId: id })
    if (locked?.status !== row.status || (await openAttempt(tx, row))) return false
    await storeSubscription(tx, { ...locked, paidUntil })
    return true
  })
