import { escapeHtml } from '../kit/index.ts'
import { type Money, moneyText } from '../payments/index.ts'
import { chargesText, type Preview, unbilledText } from './preview.ts'

type BillingMail = Readonly<{ subject: string; text: string; html: string }>

function mailOf(subject: string, paragraphs: readonly (string | readonly string[])[]): BillingMail {
  const text = paragraphs.map((part) => (typeof part === 'string' ? part : part.map((line) => `    ${line}`).join('\n'))).join('\n\n')
  const html = paragraphs.map((part) =>
    typeof part === 'string' ? `<p>${escapeHtml(part)}</p>` : `<ul>${part.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`,
  )
  return { subject, text: `${text}\n`, html: html.join('\n') }
}

type Announced = Readonly<{ tenantName: string; isTaxed: boolean }>

/** Announces the charges of a month before it ends. Some of them were collected at the begin of their period. */
export const periodEndMail = (preview: Preview, { tenantName, isTaxed }: Announced): BillingMail =>
  mailOf(`Your charges for ${preview.month}`, [
    `Hello ${tenantName},`,
    `these are the charges for ${preview.month}, as of today. Users who become active before the end of the month are added.`,
    chargesText(preview),
    ...(preview.unbilled.length === 0
      ? []
      : ['These earlier months are not charged yet. They are charged in addition to the total:', unbilledText(preview)]),
    `${isTaxed ? 'Tax is added to these prices. ' : ''}The total is without the price of your plan. Monthly prices of items may be paid already.`,
    'There is nothing to do. If you uninstall an item or module now, it costs nothing in later months. ' +
      'Its active users and modules of this month are still charged, and a monthly price that was paid is not paid back.',
  ])

/** A user who cannot log in there asks the operator. */
const newMeans = (billsUrl: string): string =>
  `Users who manage bills store another one at ${billsUrl}. The operator of your platform can send you a link for it too.`

type Failed = Readonly<
  { tenantName: string; isUnpaid: boolean; isInstalled: boolean; billsUrl: string } & ({ itemName: string } | { plan: string })
>

/** A payment could not be collected; nothing was taken away. */
export const paymentFailedMail = ({ tenantName, isUnpaid, isInstalled, billsUrl, ...of }: Failed): BillingMail => {
  const name = 'plan' in of ? `the plan ${of.plan}` : of.itemName
  const uninstalled = `${name} is uninstalled; the payment is for the time before.`
  const effect = 'plan' in of ? 'Your plan stays until its subscription ends.' : isInstalled ? `${name} stays installed.` : uninstalled
  return mailOf(`The payment for ${name} failed`, [
    `Hello ${tenantName},`,
    `your payment for ${name} could not be collected. ${effect}`,
    isUnpaid
      ? `The payment is not tried again by itself. ${newMeans(billsUrl)}`
      : `The payment is tried again in the next days. Check your means of payment. ${newMeans(billsUrl)}`,
  ])
}

type Unpaid = Readonly<{ tenantName: string; itemName: string; invoiceId: string; amount: Money; hasEnded: boolean; billsUrl: string }>

/** An invoice for modules or late usage, or the last one of an ended subscription, was not paid; nothing was taken away for it. */
export const invoiceFailedMail = ({ tenantName, itemName, invoiceId, amount, hasEnded, billsUrl }: Unpaid): BillingMail =>
  mailOf(`Your invoice for ${itemName} is not paid`, [
    `Hello ${tenantName},`,
    `your invoice for ${itemName} over ${moneyText(amount)} (${invoiceId}) is not paid. ` +
      (hasEnded ? 'It is for the time until the subscription ended.' : 'Everything stays installed.'),
    `Check your means of payment, or pay the invoice by the link in the mail of the payment provider. ${newMeans(billsUrl)}`,
  ])
