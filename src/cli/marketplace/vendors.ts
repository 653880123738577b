import { problem } from '../../core/kit/index.ts'
import type { NewVendor, Vendor } from '../../core/marketplace/index.ts'
import { ago, type Column, type Context, clean, command, count, fields, type Style, sections, stamp, table, text } from '../kit/index.ts'
import { readVendor, reportView, type VendorReport } from './vendor-report.ts'

type Listed = Readonly<{ vendors: readonly Vendor[]; nextCursor: string | null }>
type Link = Readonly<{ url: string; expiresAt: string }>
type Input = Readonly<{
  vendor?: string
  name: string | undefined
  email: string | undefined
  country: string | undefined
  fee: string | undefined
  limit: number | undefined
  cursor: string | undefined
}>

export const vendors = command('vendors <list|show|create|update|onboard|sync> [vendor]', 'Manage vendors and their payment accounts', {
  options: {
    name: text('--name <name>', 'name of the vendor'),
    email: text('--email <address>', 'contact address'),
    country: text('--country <code>', 'country such as DE; fixed once the account exists'),
    fee: text('--fee <percent>', 'fee of the platform, at most two decimals (default: 30)'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: async (context, { 'list|show|create|update|onboard|sync': action, ...input }): Promise<Listed | VendorReport | Vendor | Link> => {
    if (action === 'list') return context.api.marketplace.listVendors({ query: { limit: input.limit, cursor: input.cursor } })
    if (action === 'show') return readVendor(context, named(input))
    if (action === 'create') return create(context, input)
    if (action === 'update') return update(context, input)
    if (action === 'onboard') return context.api.marketplace.onboardVendor({ params: { id: named(input) } })
    if (action === 'sync') return context.api.marketplace.syncVendor({ params: { id: named(input) } })
    throw problem('USAGE', `unknown action ${action}; use list, show, create, update, onboard or sync`)
  },
  view,
  examples: [
    'vendors list',
    'vendors show vnd_2x7e',
    'vendors create --name Acme --email pay@acme.example --country DE',
    'vendors update vnd_2x7e --fee 12.5',
    'vendors onboard vnd_2x7e',
  ],
})

function feeOf({ fee }: Input): number | undefined {
  if (fee === undefined) return undefined
  if (/^\d{1,3}(\.\d{1,2})?$/.test(fee) && Number(fee) <= 100) return Number(fee)
  throw problem('USAGE', `--fee ${fee} is not a percentage from 0 to 100. fix: --fee 12.5`)
}

function create({ api }: Context, input: Input): Promise<Vendor> {
  const { name, email: contactEmail, country } = input
  if (name === undefined || contactEmail === undefined || country === undefined)
    throw problem('USAGE', 'pass --name, --email and --country')
  const body = { name, contactEmail, country: country as NewVendor['country'], applicationFeePercent: feeOf(input) }
  return api.marketplace.createVendor({ body })
}

function named({ vendor }: Input): string {
  if (vendor !== undefined) return vendor
  throw problem('USAGE', 'vendor missing; pass an id of `tenantry marketplace vendors list`')
}

function update({ api }: Context, input: Input): Promise<Vendor> {
  const { name, email: contactEmail } = input
  const id = named(input)
  const body = { name, contactEmail, country: input.country as NewVendor['country'] | undefined, applicationFeePercent: feeOf(input) }
  if (Object.values(body).every((value) => value === undefined))
    throw problem('USAGE', 'nothing to change; pass --name, --email, --country or --fee')
  return api.marketplace.changeVendor({ params: { id }, body })
}

const tints = { pending: 'yellow', active: 'green', restricted: 'red' } as const

const columns = ({ now }: Style): Column<Vendor>[] => [
  { title: 'VENDOR', value: ({ id }) => id, priority: 1 },
  { title: 'NAME', value: ({ name }) => clean(name), priority: 1, minWidth: 8 },
  { title: 'COUNTRY', value: ({ country }) => country, priority: 3 },
  {
    ...{ title: 'ACCOUNT', value: ({ paymentAccountStatus }: Vendor) => paymentAccountStatus, priority: 1 },
    paint: ({ paymentAccountStatus }) => tints[paymentAccountStatus],
  },
  { title: 'FEE', value: ({ applicationFeePercent }) => `${applicationFeePercent} %`, priority: 2, align: 'right' },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 4 },
]

function view(result: Listed | VendorReport | Vendor | Link, style: Style): string {
  if ('url' in result) return `${result.url}\nIt works once and expires ${stamp(result.expiresAt, style.now)}. Send it to the vendor.`
  if ('sales' in result) return sections(vendorView(result, style), reportView(result, style))
  return 'vendors' in result ? listView(result, style) : vendorView(result, style)
}

const listView = ({ vendors: found, nextCursor }: Listed, style: Style): string =>
  sections(found.length === 0 ? 'No vendors.' : table(style, columns(style), found), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

const vendorView = (one: Vendor, style: Style): string =>
  fields(style, [
    ['vendor', one.id],
    ['name', clean(one.name)],
    ['contact', clean(one.contactEmail)],
    ['country', one.country],
    ['account', `${one.paymentAccountStatus}${one.paymentAccountId === null ? '' : ` (${one.paymentAccountId})`}`],
    ['fee', `${one.applicationFeePercent} %`],
  ])
