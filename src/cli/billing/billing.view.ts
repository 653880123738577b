import type { Difference, Payout, Preview, UsageRow } from '../../core/billing/index.ts'
import { plural } from '../../core/kit/index.ts'
import { ago, type Column, clean, type Style, sections, table } from '../kit/index.ts'

const money = (cents: number, currency: string): string => {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)} ${currency.toUpperCase()}`
}

const more = (cursor: string | null): string => (cursor === null ? '' : `More: the same command with --cursor ${cursor}`)

type Charged = Previews['previews'][number]['charges'][number] & Readonly<{ tenant: string }>

const chargeColumns: Column<Charged>[] = [
  { title: 'TENANT', value: ({ tenant }) => tenant, priority: 1 },
  { title: 'CHARGE', value: ({ name }) => clean(name), priority: 1, minWidth: 10 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 2 },
  { title: 'QUANTITY', value: ({ quantity }) => String(quantity), priority: 2, align: 'right' },
  { title: 'PRICE', value: ({ unitCents, currency }) => money(unitCents, currency), priority: 3, align: 'right' },
  { title: 'AMOUNT', value: ({ cents, currency }) => money(cents, currency), priority: 1, align: 'right' },
]

export function previewList({ month, previews, nextCursor }: Previews, style: Style): string {
  const rows = previews.flatMap(({ tenant, charges }) => charges.map((charge) => ({ ...charge, tenant })))
  const unbilled = unbilledLines(previews)
  if (rows.length === 0) return sections(`No charges in ${month}.`, unbilled, more(nextCursor))
  const total = previews.reduce((sum, { totalCents }) => sum + totalCents, 0)
  return sections(
    table(style, chargeColumns, rows),
    `Total of this page in ${month}: ${money(total, previews[0]?.currency ?? '')}`,
    unbilled,
    more(nextCursor),
  )
}

/** Months before that the next run charges in addition. */
function unbilledLines(previews: Previews['previews']): string {
  const lines = previews.flatMap(({ tenant, unbilled }) =>
    unbilled.map(({ month, cents, currency }) => `  ${tenant} ${month}: ${money(cents, currency)}`),
  )
  return lines.length === 0 ? '' : ['Earlier months that are not billed, charged in addition:', ...lines].join('\n')
}

const tints = {
  planned: 'yellow',
  reported: 'green',
  billed: 'green',
  unbilled: 'red',
  paid: 'green',
  refunded: 'yellow',
  void: 'yellow',
  waived: 'yellow',
} as const

const usageColumns = ({ now }: Style): Column<UsageRow>[] => [
  { title: 'TENANT', value: ({ tenant }) => tenant, priority: 1 },
  { title: 'MONTH', value: ({ month }) => month, priority: 1 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 3 },
  { title: 'SUBJECT', value: ({ subject }) => subject, priority: 2 },
  { title: 'QUANTITY', value: ({ quantity }) => String(quantity), priority: 2, align: 'right' },
  { title: 'AMOUNT', value: ({ cents, currency }) => money(cents, currency), priority: 1, align: 'right' },
  { title: 'STATUS', value: ({ state }) => state, priority: 1, paint: ({ state }) => tints[state] },
  { title: 'INVOICE', value: ({ invoiceId }) => invoiceId, priority: 3 },
  { title: 'REASON', value: ({ reason }) => reason && clean(reason), priority: 2 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 4 },
]

export const usageList = ({ usage, nextCursor, open }: Usage, style: Style): string =>
  sections(usage.length === 0 ? 'No usage.' : table(style, usageColumns(style), usage), openText(open), more(nextCursor))

/** One sum for each currency. */
const sumsText = (usage: readonly UsageRow[]): string =>
  [...new Set(usage.map(({ currency }) => currency))]
    .sort()
    .map((one) =>
      money(
        usage.filter(({ currency }) => currency === one).reduce((sum, { cents }) => sum + cents, 0),
        one,
      ),
    )
    .join(' and ')

export const waivedList = ({ usage }: Readonly<{ usage: readonly UsageRow[] }>, style: Style): string => {
  if (usage.length === 0) return 'Nothing to waive: everything is billed or was waived before.'
  return sections(table(style, usageColumns(style), usage), `Waived: ${sumsText(usage)}. No job bills it any more.`)
}

/** Counts all tenants and months: an old amount may be on no page that is shown. */
function openText({ unbilled, planned }: Usage['open']): string {
  const parts = [unbilled > 0 ? `${unbilled} unbilled` : '', planned > 0 ? `${planned} planned` : ''].filter((part) => part !== '')
  return parts.length === 0 ? '' : `Not billed, of all tenants and months: ${parts.join(', ')}.`
}

const payoutTints = { listed: 'yellow', waiting: 'yellow', transferred: 'green' } as const

const payoutColumns: Column<Payout>[] = [
  { title: 'DEVELOPER', value: ({ developerId }) => developerId, priority: 1 },
  { title: 'VENDOR', value: ({ vendorId }) => vendorId ?? 'none', priority: 2 },
  { title: 'MONTH', value: ({ month }) => month, priority: 1 },
  { title: 'GROSS', value: ({ grossCents, currency }) => money(grossCents, currency), priority: 2, align: 'right' },
  { title: 'FEE', value: ({ feeCents, currency }) => money(feeCents, currency), priority: 2, align: 'right' },
  { title: 'NET', value: ({ netCents, currency }) => money(netCents, currency), priority: 1, align: 'right' },
  { title: 'HELD', value: ({ heldCents, currency }) => money(heldCents, currency), priority: 2, align: 'right' },
  { title: 'DEDUCTED', value: ({ deductedCents, currency }) => money(deductedCents, currency), priority: 3, align: 'right' },
  { title: 'STATUS', value: ({ state }) => state, priority: 1, paint: ({ state }) => payoutTints[state] },
  { title: 'TRANSFER', value: ({ transferId }) => transferId, priority: 3 },
  { title: 'REASON', value: ({ reason }) => reason && clean(reason), priority: 2 },
]

export const payoutList = ({ payouts, nextCursor }: Payouts, style: Style): string =>
  sections(payouts.length === 0 ? 'No payouts.' : table(style, payoutColumns, payouts), more(nextCursor))

const lines = ({ kind, subject, id, here, there, fix }: Difference): string =>
  [`${kind} ${clean(subject)} (${clean(id)})`, `  here:  ${clean(here)}`, `  there: ${clean(there)}`, `  fix:   ${clean(fix)}`].join('\n')

export const differenceList = ({ differences, checked }: Compared): string =>
  sections(
    ...differences.map(lines),
    differences.length === 0
      ? `No differences in ${plural(checked, 'tenant')}.`
      : `${plural(differences.length, 'difference')} in ${plural(checked, 'tenant')}. Nothing was changed.`,
  )

export type Compared = Readonly<{ differences: readonly Difference[]; checked: number }>

export type Payouts = Readonly<{ payouts: readonly Payout[]; nextCursor: string | null }>

export type Previews = Readonly<{ month: string; previews: readonly Preview[]; nextCursor: string | null }>

export type Usage = Readonly<{
  usage: readonly UsageRow[]
  nextCursor: string | null
  open: Readonly<{ unbilled: number; planned: number }>
}>
