import { escapeHtml } from '../kit/index.ts'
import type { PriceModel } from './pricing.ts'
import type { SubmissionStatus } from './submission.ts'

export type MailKind = 'receipt' | 'approved' | 'rejected' | 'needs-changes'

/** The status in which a mail is still true. */
export const statusOfMail: Readonly<Record<MailKind, SubmissionStatus>> = {
  receipt: 'pending',
  approved: 'approved',
  rejected: 'rejected',
  'needs-changes': 'needs-changes',
}

type Approval = Readonly<{
  /** Whether the item is published now: the next version of another one cannot be installed. */
  isListed: boolean
  /** The item costs something, and the account of its vendor cannot be paid yet. */
  needsAccount: boolean
  /** The price of the item where the submission named another one: a new version keeps it. Null: the same. */
  keptPrice: Readonly<{ priceModel: PriceModel | null; priceCents: number | null; currency: string | null }> | null
}>

type Facts = Readonly<{
  submissionId: string
  name: string
  vendorName: string
  /** Notes of the reviewer; empty for a receipt. */
  notes: string
  /** An approval: what the vendor has to know of the price and of its account. */
  approval: Approval
  /** Addresses of the status page and of what the vendor does next. */
  statusUrl: string
  confirmUrl: string
  repeatUrl: string
}>

type Part = Readonly<{ text: string } | { quote: string } | { link: string } | { code: string }>

const parts: Readonly<Record<MailKind, (facts: Facts) => Readonly<{ subject: string; body: readonly Part[] }>>> = {
  // Anyone may enter any address, so a receipt has no text of the submission.
  receipt: ({ submissionId, confirmUrl, statusUrl }) => ({
    subject: `We received submission ${submissionId}`,
    body: [
      { text: 'We received a submission to the marketplace with this address. A reviewer answers within 2 working days.' },
      { text: 'Please confirm that this address is yours. Open this link and press the button:' },
      { link: confirmUrl },
      { text: 'The status of your submission:' },
      { link: statusUrl },
      { text: 'If you submitted nothing, ignore this mail.' },
    ],
  }),
  approved: ({ name, notes, approval: { isListed, needsAccount, keptPrice } }) => ({
    subject: `${name} was approved`,
    body: [
      {
        text: `A reviewer approved "${name}". ${isListed ? 'It is listed' : 'The item is not listed'} in the marketplace${isListed ? '' : ' at present'}.`,
      },
      ...quoted('Notes of the reviewer:', notes),
      ...(keptPrice ? [{ text: `Its price did not change: ${priceText(keptPrice)}. The price that you submitted does not apply.` }] : []),
      { text: afterApproval({ isListed, needsAccount }) },
    ],
  }),
  rejected: ({ name, notes }) => ({
    subject: `${name} was rejected`,
    body: [
      { text: `A reviewer rejected your submission "${name}". It is not published.` },
      ...quoted('Reason:', notes),
      { text: 'You can send a new submission.' },
    ],
  }),
  'needs-changes': ({ name, notes, repeatUrl }) => ({
    subject: `${name} needs changes`,
    body: [
      { text: `A reviewer asks for changes of "${name}".` },
      ...quoted('What to change:', notes),
      { text: 'Send the corrected submission as JSON to this address, which contains your token. Do not share it:' },
      { code: `curl -X PUT -H 'content-type: application/json' -d @submission.json '${repeatUrl}'` },
    ],
  }),
}

function afterApproval({ isListed, needsAccount }: Pick<Approval, 'isListed' | 'needsAccount'>): string {
  if (!isListed) return 'Organisations can neither install it nor update to this version until the platform lists the item again.'
  if (!needsAccount) return 'Organisations can install it now. There is nothing more to do.'
  return 'Organisations can install it once your payment account is complete. You will get a link to set it up; there is nothing to do before.'
}

const priceText = ({ priceModel, priceCents, currency }: NonNullable<Approval['keptPrice']>): string =>
  priceModel === null
    ? 'free'
    : `${((priceCents ?? 0) / 100).toFixed(2)} ${currency?.toUpperCase()} a month${priceModel === 'per-active-user' ? ' for each active user' : ''}`

const quoted = (heading: string, notes: string): Part[] => (notes === '' ? [] : [{ text: heading }, { quote: notes }])

/** The mail with the link that opens the account of a vendor. Anyone may ask for it. */
export function vendorLinkMail({ url, minutes }: Readonly<{ url: string; minutes: number }>) {
  const all: readonly Part[] = [
    { text: 'Hello,' },
    { text: `Open your account at the marketplace with this link. It works once, within ${minutes} minutes:` },
    { link: url },
    { text: 'If you did not ask for it, ignore this mail: nothing changes.' },
  ]
  return { subject: 'Your account at the marketplace', ...bodyOf(all) }
}

const bodyOf = (all: readonly Part[]) => ({ text: `${all.map(asText).join('\n\n')}\n`, html: all.map(asHtml).join('\n') })

/** Subject, text and HTML of a mail to a vendor. Names and notes are texts of people: escaped in HTML, on one line in the subject; none in a receipt. */
export function submissionMail(kind: MailKind, facts: Facts) {
  const { subject, body } = parts[kind](facts)
  const closing = `Submission: ${facts.submissionId}`
  const all: readonly Part[] = [{ text: kind === 'receipt' ? 'Hello,' : `Hello ${facts.vendorName},` }, ...body, { text: closing }]
  return { subject, ...bodyOf(all) }
}

const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')

const asText = (part: Part): string =>
  'text' in part ? part.text : indented('quote' in part ? part.quote : 'link' in part ? part.link : part.code)

function asHtml(part: Part): string {
  if ('text' in part) return `<p>${escapeHtml(part.text)}</p>`
  if ('quote' in part) return `<blockquote style="white-space: pre-wrap">${escapeHtml(part.quote)}</blockquote>`
  if ('code' in part) return `<pre>${escapeHtml(part.code)}</pre>`
  return `<p><a href="${escapeHtml(part.link)}">${escapeHtml(part.link)}</a></p>`
}
