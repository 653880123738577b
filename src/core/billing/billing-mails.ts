import { escapeHtml } from '../kit/index.ts'
import { type Money, moneyText } from '../payments/index.ts'
import { chargesText, type Preview } from './preview.ts'

type BillingMail = Readonly<{ subject: string; text: string; html: string }>

function mailOf(subject: string, paragraphs: readonly (string | readonly string[])[]): BillingMail {
  const text = paragraphs.map((part) => (typeof part === 'string' ? part : part.map((line) => `    ${line}`).join('\n'))).join('\n\n')
  const html = paragraphs.map((part) =>
    typeof part === 'string' ? `<p>${escapeHtml(part)}</p>` : `<ul>${part.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`,
  )
  return { subject, text: `${text}\n`, html: html.join('\n') }
}

/** Announces the charges of a month before it ends. */
export const periodEndMail = (preview: Preview, { tenantName }: Readonly<{ tenantName: string }>): BillingMail =>
  mailOf(`Your charges for ${preview.month}`, [
    `Hello ${tenantName},`,
    `this is what will be charged for ${preview.month}, as of today. Users who become active before the end of the month are added.`,
    chargesText(preview),
    'To change it, uninstall an item or module in your platform before the end of the month. Otherwise there is nothing to do.',
  ])

type Failed = Readonly<{ tenantName: string; isUnpaid: boolean; isInstalled: boolean } & ({ itemName: string } | { plan: string })>

/** A payment could not be collected; nothing was taken away. */
export const paymentFailedMail = ({ tenantName, isUnpaid, isInstalled, ...of }: Failed): BillingMail => {
  const name = 'plan' in of ? `the plan ${of.plan}` : of.itemName
  const uninstalled = `${name} is uninstalled; the payment is for the time before.`
  const effect = 'plan' in of ? 'Your plan stays until its subscription ends.' : isInstalled ? `${name} stays installed.` : uninstalled
  return mailOf(`The payment for ${name} failed`, [
    `Hello ${tenantName},`,
    `your payment for ${name} could not be collected. ${effect}`,
    isUnpaid
      ? 'The payment is not tried again by itself. Ask the operator of your platform for a link to a new means of payment.'
      : 'The payment is tried again in the next days. Check your means of payment, or ask the operator of your platform for a link to change it.',
  ])
}

type Unpaid = Readonly<{ tenantName: string; itemName: string; invoiceId: string; amount: Money }>

/** An invoice for modules or late usage was not paid; nothing was taken away. */
export const invoiceFailedMail = ({ tenantName, itemName, invoiceId, amount }: Unpaid): BillingMail =>
  mailOf(`Your invoice for ${itemName} is not paid`, [
    `Hello ${tenantName},`,
    `your invoice for ${itemName} over ${moneyText(amount)} (${invoiceId}) is not paid. Everything stays installed.`,
    'Check your means of payment, or pay the invoice by the link in the mail of the payment provider. ' +
      'The operator of your platform can send you a link to change the means of payment.',
  ])
