import { problem } from '../../core/kit/index.ts'
import type { Item, Submission, SubmissionStatus, SubmissionSummary } from '../../core/marketplace/index.ts'
import {
  ago,
  type Column,
  type Context,
  clean,
  command,
  count,
  fields,
  oneOf,
  type Style,
  sections,
  stamp,
  table,
  text,
} from '../kit/index.ts'
import { bundleView } from './bundle.view.ts'
import { itemView } from './items.ts'
import { priceText } from './price.ts'

type Listed = Readonly<{ submissions: readonly SubmissionSummary[]; nextCursor: string | null }>
type Reviewed = Readonly<{ submission: string; status: string; item?: Item }>
type Input = Readonly<{
  submission?: string
  status: SubmissionStatus | undefined
  notes: string | undefined
  vendor: string | undefined
  item: string | undefined
  round: number | undefined
  limit: number | undefined
  cursor: string | undefined
}>

export const submissions = command(
  'submissions <list|show|approve|reject|request-changes> [submission]',
  'Review flows and apps that vendors submitted',
  {
    options: {
      status: oneOf('--status <status>', 'list: only these', ['pending', 'needs-changes', 'approved', 'rejected']),
      notes: text('--notes <text>', 'notes or reason for the vendor'),
      vendor: text('--vendor <vendor>', 'approve: join this vendor, or `new` (default: by address)'),
      item: text('--item <item>', 'approve: publish as the next version of this item'),
      round: count('--round <round>', 'approve: the round that you read (default: 1)'),
      limit: count('--limit <count>', 'max results'),
      cursor: text('--cursor <cursor>', 'pagination cursor'),
    },
    run: async (context, { 'list|show|approve|reject|request-changes': action, ...input }): Promise<Listed | Submission | Reviewed> => {
      const { limit, cursor, status } = input
      if (action === 'list') return context.api.marketplace.listMarketplaceSubmissions({ query: { status, limit, cursor } })
      if (action === 'show') return context.api.marketplace.showMarketplaceSubmission({ params: { id: named(input) } })
      if (action === 'approve') return approve(context, input)
      if (action === 'reject' || action === 'request-changes') return refuse(context, action, input)
      throw problem('USAGE', `unknown action ${action}; use list, show, approve, reject or request-changes`)
    },
    view,
    examples: [
      ...['submissions list --status pending', 'submissions approve sbm_2x7e --notes "Well done"'],
      'submissions request-changes sbm_2x7e --notes "Describe what it does"',
    ],
  },
)

function named({ submission }: Input): string {
  if (submission !== undefined) return submission
  throw problem('USAGE', 'submission missing; pass an id of `tenantry marketplace submissions list`')
}

async function approve({ api }: Context, input: Input): Promise<Reviewed> {
  const id = named(input)
  const body = { round: input.round, notes: input.notes, vendorId: input.vendor === 'new' ? null : input.vendor, itemId: input.item }
  const { item, status } = await api.marketplace.approveMarketplaceSubmission({ params: { id }, body })
  return { submission: id, status, item }
}

async function refuse({ api }: Context, action: 'reject' | 'request-changes', input: Input): Promise<Reviewed> {
  const params = { id: named(input) }
  if (!input.notes) throw problem('USAGE', 'the vendor needs a reason; pass --notes "…"')
  const body = { reason: input.notes }
  const { marketplace } = api
  const { status } =
    action === 'reject'
      ? await marketplace.rejectMarketplaceSubmission({ params, body })
      : await marketplace.requestMarketplaceChanges({ params, body })
  return { submission: params.id, status }
}

const columns = ({ now }: Style): Column<SubmissionSummary>[] => [
  { title: 'SUBMISSION', value: ({ id }) => id, priority: 1 },
  { title: 'NAME', value: ({ name }) => clean(name), priority: 1, minWidth: 20 },
  { title: 'TYPE', value: ({ itemType }) => itemType, priority: 3 },
  { title: 'PRICE', value: priceText, priority: 2 },
  { title: 'VENDOR', value: ({ vendorName }) => clean(vendorName), priority: 2, minWidth: 8 },
  { title: 'MAIL CONFIRMED', value: ({ proven }) => (proven ? 'yes' : 'no'), priority: 2 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
]

function view(result: Listed | Submission | Reviewed, style: Style): string {
  if ('submissions' in result) return listView(result, style)
  if ('submission' in result)
    return sections(
      `Submission ${clean(result.submission)} is ${result.status}. The vendor gets a mail (without a mail server, a file in the daemon's mail folder).`,
      result.item ? itemView(result.item, style) : '',
      result.item ? afterApproval(result.item) : '',
    )
  return showView(result, style)
}

/** The mail promises the vendor a link, which only an operator makes. */
const afterApproval = ({ priceModel, vendorId }: Item): string =>
  priceModel === null || vendorId === null
    ? ''
    : `The item sells once the payment account of its vendor is complete. If it is not, send the vendor a link:\n  tenantry marketplace vendors onboard ${vendorId}`

const listView = ({ submissions: found, nextCursor }: Listed, style: Style): string =>
  sections(
    found.length === 0 ? 'No submissions.' : table(style, columns(style), found),
    nextCursor ? `Next page: --cursor ${nextCursor}` : '',
  )

/** Every text of the vendor is printed without control characters. */
const showView = (one: Submission, style: Style): string =>
  sections(
    fields(style, [
      ['submission', one.id],
      ['name', clean(one.name)],
      ['type', `${one.itemType} ${one.version}, ${one.category}`],
      ['price', priceText(one)],
      ['vendor', `${clean(one.vendorName)} <${clean(one.vendorEmail)}>, ${one.vendorCountry}`],
      ['mail', one.proven ? 'confirmed by the link of the receipt' : 'not confirmed'],
      ...(one.forItem ? ([['next of', `${clean(one.forItem.name)} ${one.forItem.version} (${one.forItem.id})`]] as const) : []),
      ...(one.screenshots.length > 0
        ? ([['pictures', `${one.screenshots.length}, on the page of the submission in the console`]] as const)
        : []),
      ['status', `${one.status}, round ${one.round}`],
      ['created', stamp(one.createdAt, style.now)],
      ...(one.reviewNotes ? ([['notes', clean(one.reviewNotes)]] as const) : []),
    ]),
    clean(one.description),
    one.warnings.length === 0 ? '' : ['warnings:', ...one.warnings.map((line) => `  ${clean(line)}`)].join('\n'),
    bundleView(one, style),
    one.status === 'pending' ? nextSteps(one) : '',
  )

/** Without a vendor, an approval creates another vendor and item. */
function nextSteps({ id, round, vendors, forItem }: Submission): string {
  const approve = `next: tenantry marketplace submissions approve ${id} --round ${round}`
  if (forItem) return `${approve}   # next version of ${clean(forItem.name)} ${forItem.version}`
  const known = vendors.flatMap((vendor) => [
    ...vendor.items.map(
      (item) => `${approve} --vendor ${vendor.id} --item ${item.id}   # next version of ${clean(item.name)} ${item.version}`,
    ),
    `${approve} --vendor ${vendor.id}   # a new item of ${clean(vendor.name)}`,
  ])
  return [...known, known.length === 0 ? approve : `${approve}   # a new item of a new vendor`].join('\n')
}
