import { alertKey, type NewAlert } from '../../core/alerts/index.ts'
import { splitFix } from '../../core/kit/index.ts'
import { type Money, moneyText } from '../../core/payments/index.ts'

// The alerts about payments of tenants and about installations that are paid.

/** `id`: the subscription, or the invoice of one that has none. */
export const paymentFailedKey = (id: string): string => alertKey('payment_failed', id)

/** `isUnpaid`: the provider does not try again. `isInstalled`: false for an item that was uninstalled since. */
type OfSubscription = Readonly<{ subscriptionId: string; isUnpaid: boolean; isPlan?: boolean; isInstalled?: boolean }>

/** An invoice of its own, for modules or late usage. `hasEnded`: the last one of a subscription that has ended. */
type OfInvoice = Readonly<{ invoiceId: string; hasEnded?: boolean }>

type Item = Readonly<{ slug: string; itemName: string }>
type Failed = Item & (OfSubscription | OfInvoice)

/** A tenant did not pay for an item, its plan, modules or late usage. */
export const paymentFailed = ({ slug, itemName, ...failed }: Failed): NewAlert => ({
  kind: 'payment_failed',
  key: paymentFailedKey('invoiceId' in failed ? failed.invoiceId : failed.subscriptionId),
  subject: slug,
  title: `A payment of ${slug} for ${itemName} failed`,
  body: `${causeOf(itemName, failed)}\nSend the tenant a link to a new means of payment. The alert closes when the invoice is paid.`,
  // An invoice of no tenant has the subject billing.
  command: slug === 'billing' ? 'tenantry billing reconcile' : `tenantry tenants billing ${slug} --create-customer`,
  standing: true,
})

function causeOf(itemName: string, failed: OfSubscription | OfInvoice): string {
  const what = 'invoiceId' in failed ? `the invoice ${failed.invoiceId}` : 'the payment'
  const failure = `The payment provider could not collect ${what} for ${itemName}`
  if ('invoiceId' in failed)
    return `${failure}. ${failed.hasEnded ? 'Its subscription has ended; the invoice is for the time before.' : 'Nothing is taken away.'}`
  const tries = failed.isUnpaid
    ? 'It does not try again.'
    : 'It tries again by its own rules, unless the tenant pays its invoices by itself.'
  return `${failure} (subscription ${failed.subscriptionId}). ${tries} ${effectOf(failed)}`
}

function effectOf({ isPlan = false, isInstalled = true }: OfSubscription): string {
  if (isPlan) return 'The plan stays until the subscription ends at the provider.'
  if (isInstalled) return 'The item stays installed until the subscription ends at the provider.'
  return 'The item is uninstalled; the payment is for the time before.'
}

type OfAttempt = Item & Readonly<{ attemptId: string }>

/** An installation could not be finished after its charge. `reason`: why it ended, as its tenant reads it. */
export const installationRefunded = ({
  slug,
  itemName,
  attemptId,
  reason,
  refunded,
}: OfAttempt & Readonly<{ reason: string; refunded: Money }>): NewAlert => ({
  kind: 'installation_failed',
  key: alertKey('installation_failed', `refunded:${attemptId}`),
  subject: slug,
  title: `${itemName} could not be installed for ${slug} and was refunded`,
  body:
    `The tenant was charged, but the installation could not be finished (attempt ${attemptId}): ${splitFix(reason).what.replace(/\.$/, '')}. ` +
    `The subscription was cancelled and ${moneyText(refunded)} were refunded, with the share of the vendor and the fee.\n` +
    'The log of the daemon has the cause.',
  command: `tenantry audit list --subject ${slug}`,
})

export const refundStuckKey = (attemptId: string): string => alertKey('installation_failed', `stuck:${attemptId}`)

/** A failed installation whose payment the provider refuses to end or to pay back. */
export const refundStuck = ({ slug, itemName, attemptId, reason }: OfAttempt & Readonly<{ reason: string }>): NewAlert => ({
  kind: 'installation_failed',
  key: refundStuckKey(attemptId),
  subject: slug,
  title: `What ${slug} paid for ${itemName} cannot be paid back`,
  body:
    `The installation failed (attempt ${attemptId}), and the payment provider refuses to cancel or refund it: ${reason}.\n` +
    'Usually the balance is too low or the key lacks a permission. It is tried every minute. Until then the tenant can neither ' +
    'install the item again nor be deleted. The alert closes when it is paid back.',
  command: `tenantry audit list --subject ${slug}`,
  standing: true,
})

export const installationRejectedKey = (itemId: string): string => alertKey('installation_failed', `rejected:${itemId}`)

/** One alert for each item, whichever tenants try to install it. */
export const installationRejected = ({
  itemId,
  itemName,
  slug,
  reason,
}: Item & Readonly<{ itemId: string; reason: string }>): NewAlert => ({
  kind: 'installation_failed',
  key: installationRejectedKey(itemId),
  subject: 'billing',
  title: `The payment provider rejects the installation of ${itemName}`,
  body:
    `${slug} could not install it: ${reason}.\nUsually the key lacks a permission, the account of the vendor is not complete or data of ` +
    'the customer is missing. The tenant cannot remove the cause. The alert closes when the item was installed.',
  command: 'tenantry billing reconcile',
  standing: true,
})

type Dispute = Readonly<{ disputeId: string; isLost: boolean }>

export const disputeKey = ({ disputeId, isLost }: Dispute): string => alertKey('payment_returned', `${disputeId}${isLost ? ':lost' : ''}`)

type Disputed = Item & Dispute & Readonly<{ invoiceId: string | null; amount: Money; reason: string; dueBy: string | null }>

/** The bank of a tenant takes a payment back (chargeback). It stays open until the provider decides; a lost one is a second alert. */
export const paymentDisputed = ({ slug, itemName, disputeId, invoiceId, amount, reason, dueBy, isLost }: Disputed): NewAlert => ({
  kind: 'payment_returned',
  key: disputeKey({ disputeId, isLost }),
  subject: slug,
  title: isLost
    ? `The dispute of ${slug} about ${itemName} is lost`
    : `The bank of ${slug} disputes a payment of ${moneyText(amount)} for ${itemName}`,
  body:
    `Dispute ${disputeId} of ${moneyText(amount)}${invoiceId === null ? '' : `, invoice ${invoiceId}`}, reason: ${reason}. ` +
    (isLost
      ? 'The platform repaid it with the fee of the bank, and the vendor still has its share.\n' +
        'Reverse the transfer to the vendor in the Dashboard of the provider, and clarify the next payments with the tenant: nothing was uninstalled.'
      : 'The provider has withdrawn the amount from the platform, and the vendor still has its share. Nothing is uninstalled.\n' +
        `Send evidence in the Dashboard of the provider${dueBy === null ? '' : ` until ${dueBy}`}, or accept the dispute. ` +
        'The alert closes when the provider has decided.'),
  command: `tenantry audit list --subject ${slug}`,
  standing: !isLost,
})

export const refundFailedKey = (refundId: string): string => alertKey('payment_returned', refundId)

type FailedRefund = Item & Readonly<{ refundId: string; invoiceId: string; amount: Money; reason: string | null }>

/** The provider sent a refund, and the bank of the tenant did not take it. */
export const refundFailed = ({ slug, itemName, refundId, invoiceId, amount, reason }: FailedRefund): NewAlert => ({
  kind: 'payment_returned',
  key: refundFailedKey(refundId),
  subject: slug,
  title: `A refund of ${moneyText(amount)} to ${slug} for ${itemName} failed`,
  body:
    `The bank refused the refund ${refundId} of the invoice ${invoiceId}${reason === null ? '' : ` (${reason})`}. The money is with the platform again, ` +
    'and the tenant does not have it. What was taken back from a vendor by the refund stays taken back. ' +
    'Developers get their share of modules again with the next statement.\n' +
    'Ask the tenant for another way, such as a bank transfer, and take the share of a developer back by hand. If the tenant is owed nothing, ' +
    'transfer the share of the vendor again in the Dashboard of the provider.',
  command: `tenantry audit list --subject ${slug}`,
})
