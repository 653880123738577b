import { plural, printable, splitFix } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'

/** `id`: the subscription, or the invoice of one that has none. */
export const paymentFailedKey = (id: string): string => `payment_failed:${id}`

/** `isInstalled`: false for an item that was uninstalled since. */
type OfSubscription = Readonly<{ subscriptionId: string; isUnpaid: boolean; isPlan?: boolean; isInstalled?: boolean }>

/** An invoice of its own, for modules or late usage. `hasEnded`: the last one of a subscription that has ended. */
type OfInvoice = Readonly<{ invoiceId: string; hasEnded?: boolean }>

/** `isUnpaid`: the provider does not try again. */
type Failed = Readonly<{ slug: string; itemName: string } & (OfSubscription | OfInvoice)>

/** A tenant did not pay for an item, its plan, modules or late usage. */
export const paymentFailed = ({ slug, itemName, ...failed }: Failed): NewAlert => ({
  kind: 'payment_failed',
  key: paymentFailedKey('invoiceId' in failed ? failed.invoiceId : failed.subscriptionId),
  subject: slug,
  severity: 'warning',
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

const euros = (cents: number, currency: string): string =>
  `${Math.trunc(cents / 100)}.${String(Math.abs(cents) % 100).padStart(2, '0')} ${currency.toUpperCase()}`

/** `reason`: why the installation ended, as its tenant reads it. */
type Refunded = Readonly<{ slug: string; itemName: string; attemptId: string; reason: string; refundedCents: number; currency: string }>

/** An installation could not be finished after its charge. */
export const paymentRefunded = ({ slug, itemName, attemptId, reason, refundedCents, currency }: Refunded): NewAlert => ({
  kind: 'payment_refunded',
  key: `payment_refunded:${attemptId}`,
  subject: slug,
  severity: 'warning',
  title: `${itemName} could not be installed for ${slug} and was refunded`,
  body:
    `The tenant was charged, but the installation could not be finished (attempt ${attemptId}): ${splitFix(reason).what.replace(/\.$/, '')}. The subscription was cancelled and ` +
    `${euros(refundedCents, currency)} were refunded, with the share of the vendor and the fee.\nThe log of the daemon has the cause.`,
  command: `tenantry audit list --subject ${slug}`,
})

export const paymentStuckKey = (attemptId: string): string => `payment_stuck:${attemptId}`

type Stuck = Readonly<{ slug: string; itemName: string; attemptId: string; reason: string }>

/** A failed installation whose payment the provider refuses to end or to pay back. */
export const paymentStuck = ({ slug, itemName, attemptId, reason }: Stuck): NewAlert => ({
  kind: 'payment_stuck',
  key: paymentStuckKey(attemptId),
  subject: slug,
  severity: 'warning',
  title: `What ${slug} paid for ${itemName} cannot be paid back`,
  body:
    `The installation failed (attempt ${attemptId}), and the payment provider refuses to cancel or refund it: ${reason}.\n` +
    'Usually the balance is too low or the key lacks a permission. It is tried every minute. Until then the tenant can neither ' +
    'install the item again nor be deleted. The alert closes when it is paid back.',
  command: `tenantry audit list --subject ${slug}`,
  standing: true,
})

export const paymentRejectedKey = (itemId: string): string => `payment_rejected:${itemId}`

type Rejected = Readonly<{ itemId: string; itemName: string; slug: string; reason: string }>

/** One alert for each item, whichever tenants try to install it. */
export const paymentRejected = ({ itemId, itemName, slug, reason }: Rejected): NewAlert => ({
  kind: 'payment_rejected',
  key: paymentRejectedKey(itemId),
  subject: 'billing',
  severity: 'warning',
  title: `The payment provider rejects the installation of ${itemName}`,
  body:
    `${slug} could not install it: ${reason}.\nUsually the key lacks a permission, the account of the vendor is not complete or data of ` +
    'the customer is missing. The tenant cannot remove the cause. The alert closes when the item was installed.',
  command: 'tenantry billing reconcile',
  standing: true,
})

type Disputed = Readonly<{ slug: string; itemName: string; disputeId: string; invoiceId: string | null; cents: number; currency: string }> &
  Readonly<{ reason: string; dueBy: string | null; isLost: boolean }>

export const paymentDisputedKey = ({ disputeId, isLost }: Pick<Disputed, 'disputeId' | 'isLost'>): string =>
  `payment_disputed:${disputeId}${isLost ? ':lost' : ''}`

/** The bank of a tenant takes a payment back (chargeback). It stays open until the provider decides; a lost one is a second alert. */
export const paymentDisputed = ({ slug, itemName, disputeId, invoiceId, cents, currency, reason, dueBy, isLost }: Disputed): NewAlert => ({
  kind: 'payment_disputed',
  key: paymentDisputedKey({ disputeId, isLost }),
  subject: slug,
  severity: 'warning',
  title: isLost
    ? `The dispute of ${slug} about ${itemName} is lost`
    : `The bank of ${slug} disputes a payment of ${euros(cents, currency)} for ${itemName}`,
  body:
    `Dispute ${disputeId} of ${euros(cents, currency)}${invoiceId === null ? '' : `, invoice ${invoiceId}`}, reason: ${reason}. ` +
    (isLost
      ? 'The platform repaid it with the fee of the bank, and the vendor still has its share.\n' +
        'Reverse the transfer to the vendor in the Dashboard of the provider, and clarify the next payments with the tenant: nothing was uninstalled.'
      : 'The provider has withdrawn the amount from the platform, and the vendor still has its share. Nothing is uninstalled.\n' +
        `Send evidence in the Dashboard of the provider${dueBy === null ? '' : ` until ${dueBy}`}, or accept the dispute. ` +
        'The alert closes when the provider has decided.'),
  command: `tenantry audit list --subject ${slug}`,
  standing: !isLost,
})

type FailedRefund = Readonly<{ slug: string; itemName: string; refundId: string; invoiceId: string; cents: number; currency: string }> &
  Readonly<{ reason: string | null }>

/** The provider sent a refund, and the bank of the tenant did not take it. */
export const refundFailed = ({ slug, itemName, refundId, invoiceId, cents, currency, reason }: FailedRefund): NewAlert => ({
  kind: 'refund_failed',
  key: `refund_failed:${refundId}`,
  subject: slug,
  severity: 'warning',
  title: `A refund of ${euros(cents, currency)} to ${slug} for ${itemName} failed`,
  body:
    `The bank refused the refund ${refundId} of the invoice ${invoiceId}${reason === null ? '' : ` (${reason})`}. The money is with the platform again, ` +
    'and the tenant does not have it. What was taken back from a vendor by the refund stays taken back. ' +
    'Developers get their share of modules again with the next statement.\n' +
    'Ask the tenant for another way, such as a bank transfer, and take the share of a developer back by hand. If the tenant is owed nothing, ' +
    'transfer the share of the vendor again in the Dashboard of the provider.',
  command: `tenantry audit list --subject ${slug}`,
})

export const invoiceStuck = ({ slug, invoiceId }: Readonly<{ slug: string; invoiceId: string }>): NewAlert => ({
  kind: 'invoice_stuck',
  key: `invoice_stuck:${invoiceId}`,
  subject: slug,
  severity: 'warning',
  title: `An invoice of ${slug} could not be finalised`,
  body:
    `The payment provider could not finalise the invoice ${invoiceId}, usually because tax or address data of the customer is missing. ` +
    'It is not charged until somebody completes the data and finalises it in the Dashboard of the provider.',
  command: `tenantry tenants billing ${slug}`,
})

type Late = Readonly<{ slug: string; month: string; cents: number; currency: string; subscriptionId: string; invoiceItemId: string }>

/** Usage that came after its invoice. */
export const usageLate = ({ slug, month, cents, currency, subscriptionId, invoiceItemId }: Late): NewAlert => ({
  kind: 'usage_late',
  key: `usage_late:${invoiceItemId}`,
  subject: slug,
  severity: 'warning',
  title: `Usage of ${slug} in ${month} came after its invoice`,
  body:
    `The invoice of the subscription ${subscriptionId} was final, so ${euros(cents, currency)} were charged by the invoice item ${invoiceItemId}. ` +
    'The vendor gets its share with the payment, on an invoice of a subscription and on one of its own.\n' +
    'The platform keeps it if the account of the vendor could not receive transfers: check the invoice, and transfer the share by hand then.',
  command: `tenantry billing usage --tenant ${slug} --month ${month}`,
})

/** `sums`: one for each currency. */
type Unbilled = Readonly<{ count: number; sums: readonly Sum[]; deletedTenant?: string }>
type Sum = Readonly<{ cents: number; currency: string }>

const sumsText = (sums: readonly Sum[]): string => sums.map(({ cents, currency }) => euros(cents, currency)).join(' and ')

/** One alert for all of it, and one for each tenant that was deleted with unbilled months. */
export const usageUnbilled = (facts: Unbilled): NewAlert =>
  facts.deletedTenant === undefined ? stillUnbilled(facts) : neverBilled({ ...facts, slug: facts.deletedTenant })

const neverBilled = ({ count, sums, slug }: Unbilled & Readonly<{ slug: string }>): NewAlert => ({
  kind: 'usage_unbilled',
  key: `usage_unbilled:${slug}`,
  subject: 'billing',
  severity: 'warning',
  title: `${slug} is deleted with ${plural(count, 'unbilled amount')} (${sumsText(sums)})`,
  body:
    'The tenant used paid modules or items and could not be billed. Its deletion deletes these months, and no job bills them any more.\n' +
    'Invoice them by hand if they are due.',
  command: `tenantry audit list --subject ${slug}`,
})

const stillUnbilled = ({ count, sums }: Unbilled): NewAlert => ({
  kind: 'usage_unbilled',
  key: 'usage_unbilled',
  subject: 'billing',
  severity: 'warning',
  title: `${plural(count, 'amount')} ${count === 1 ? 'is' : 'are'} not billed (${sumsText(sums)})`,
  body:
    'Tenants use paid modules or items and are not billed: a payment customer is missing, a price has another currency, the payment provider ' +
    'refused or did not answer, or there is none. The list names the reason of each.\n' +
    'Modules: remove the reason, then run tenantry crons run billing-usage-aggregation: it charges those of the last 12 months at once.\n' +
    'Older modules: no job charges them. Invoice by hand what is due, then waive them with --kind module.\n' +
    'Users whose payment customer does not exist: no job charges them while it is missing, and each run tries them again. Invoice them by hand ' +
    'and waive them before the next run: tenantry billing waive <tenant> --until <month> --kind users --reason <why>.',
  command: 'tenantry billing usage --state unbilled',
  standing: true,
})

/** The provider refused reports of usage after it had taken them. */
export const usageRejected = ({ meterId, subject }: Readonly<{ meterId: string; subject: string }>): NewAlert => ({
  kind: 'usage_rejected',
  key: `usage_rejected:${meterId}`,
  subject,
  severity: 'critical',
  title: `The payment provider rejected usage of the meter ${meterId}`,
  body:
    'Reports of active users were not counted, for example because a customer does not exist any more. They will be missing on the next invoice.\n' +
    'The Dashboard of the provider names the reports. The comparison names what is not invoiced.',
  command: 'tenantry billing reconcile',
})

type Ended = Readonly<{ slug: string; plan: string; subscriptionId: string; isSuspended: boolean }>

/** The subscription of a tenant's plan is gone. */
export const planEnded = ({ slug, plan, subscriptionId, isSuspended }: Ended): NewAlert => ({
  kind: 'plan_ended',
  key: `plan_ended:${slug}`,
  subject: slug,
  severity: 'warning',
  title: `The subscription of ${slug} for the plan ${plan} ended`,
  body:
    `The subscription ${subscriptionId} ended at the payment provider. ` +
    (isSuspended
      ? 'The tenant is suspended; its box and chat keep running. A new subscription of its plan lifts that, and you may resume it for a time.'
      : 'Nothing was taken away: a tenant with this plan is never suspended by itself. Decide with the tenant.'),
  command: `tenantry tenants billing ${slug}`,
  standing: true,
})

type Again = Readonly<{ slug: string; lift: string }>

/** The time for which a tenant was resumed has ended. */
export const suspendedAgain = ({ slug, lift }: Again): NewAlert => ({
  kind: 'suspended_again',
  key: `suspended_again:${slug}`,
  subject: slug,
  severity: 'warning',
  title: `${slug} is suspended again`,
  body: `The time for which the tenant was resumed has ended, and the cause is left. Its box and chat keep running. To lift it: ${lift}`,
  command: `tenantry tenants show ${slug}`,
  standing: true,
})

type Duplicate = Readonly<{ slug: string; subscriptionId: string; knownId: string }>

export const planDuplicate = ({ slug, subscriptionId, knownId }: Duplicate): NewAlert => ({
  kind: 'plan_duplicate',
  key: `plan_duplicate:${subscriptionId}`,
  subject: slug,
  severity: 'warning',
  title: `${slug} has a second live subscription of a plan`,
  body:
    `${knownId} is the subscription of its plan, and ${subscriptionId} changed nothing. The tenant pays for both: cancel one at the provider. ` +
    'The other one applies then.',
  command: `tenantry tenants billing ${slug}`,
})

type Restricted = Readonly<{ vendorId: string; name: string; pastDue: readonly string[] }>

/** The provider disabled the account of a vendor, or waits for data of it. */
export const vendorRestricted = ({ vendorId, name, pastDue }: Restricted): NewAlert => ({
  kind: 'vendor_restricted',
  key: `vendor_restricted:${vendorId}`,
  subject: vendorId,
  severity: 'warning',
  title: `The payment account of the vendor ${printable(name).slice(0, 50)} is restricted`,
  body:
    `Tenants cannot install its paid items (VENDOR_INACTIVE). Live subscriptions continue; without transfers their payments fail.\n` +
    (pastDue.length > 0 ? `The provider waits for: ${pastDue.join(', ').slice(0, 300)}.\n` : '') +
    'Send the vendor a link to complete its account. The alert closes when the account is active.',
  command: `tenantry marketplace vendors onboard ${vendorId}`,
  standing: true,
})

type Differs = Readonly<{ count: number; first: string }>

/** One alert for all of them. */
export const billingDiffers = ({ count, first }: Differs): NewAlert => ({
  kind: 'billing_differs',
  key: 'billing_differs',
  subject: 'billing',
  severity: 'warning',
  title: `${count} ${count === 1 ? 'difference' : 'differences'} with the payment provider`,
  body: `The daily comparison found what the platform and the provider have differently. The first: ${first}.\nNothing was changed. Each line names a fix.`,
  command: 'tenantry billing reconcile',
  standing: true,
})
