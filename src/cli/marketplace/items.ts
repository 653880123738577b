import { problem } from '../../core/kit/index.ts'
import type { Item, ItemStatus } from '../../core/marketplace/index.ts'
import { ago, type Column, type Context, clean, command, count, fields, oneOf, type Style, sections, table, text } from '../kit/index.ts'
import { priceText, readPrice } from './price.ts'

type Listed = Readonly<{ items: readonly Item[]; nextCursor: string | null }>
type Input = Readonly<{
  item?: string
  status: ItemStatus | undefined
  price: string | undefined
  vendor: string | undefined
  limit: number | undefined
  cursor: string | undefined
}>

export const items = command('items <list|update> [item]', 'List items; change status, price or vendor of one', {
  options: {
    status: oneOf('--status <status>', 'list: only these; update: the new status', ['draft', 'published', 'archived']),
    price: text('--price <price>', 'flat-monthly=<cents>, per-active-user=<cents> or free'),
    vendor: text('--vendor <vendor>', 'id of the vendor that is paid; none for the platform'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: async (context, { 'list|update': action, ...input }): Promise<Listed | Item> => {
    if (action === 'list') return list(context, input)
    if (action === 'update') return update(context, input)
    throw problem('USAGE', `unknown action ${action}; use list or update`)
  },
  view: (result, style) => ('items' in result ? listView(result, style) : itemView(result, style)),
  examples: ['items list', 'items update itm_2x7e --price flat-monthly=499', 'items update itm_2x7e --status archived'],
})

const list = ({ api }: Context, { status, limit, cursor }: Input) => api.marketplace.listItems({ query: { status, limit, cursor } })

function update({ api }: Context, { item, status, price, vendor }: Input): Promise<Item> {
  if (item === undefined) throw problem('USAGE', 'item missing; pass an id of `tenantry marketplace items list`')
  const vendorId = vendor === 'none' ? null : vendor
  const body = { status, ...(price === undefined ? {} : readPrice(price)), vendorId }
  if (Object.values(body).every((value) => value === undefined))
    throw problem('USAGE', 'nothing to change; pass --status, --price or --vendor')
  return api.marketplace.changeItem({ params: { id: item }, body })
}

const tints = { draft: 'yellow', published: 'green', archived: 'red' } as const

const columns = ({ now }: Style): Column<Item>[] => [
  { title: 'ITEM', value: ({ id }) => id, priority: 1 },
  { title: 'SLUG', value: ({ slug }) => slug, priority: 2, minWidth: 12 },
  { title: 'TYPE', value: ({ itemType }) => itemType, priority: 3 },
  { title: 'VERSION', value: ({ version }) => version, priority: 3 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => tints[status] },
  { title: 'PRICE', value: priceText, priority: 1 },
  { title: 'VENDOR', value: ({ vendorName }) => clean(vendorName), priority: 2, minWidth: 8 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 4 },
]

const listView = ({ items: found, nextCursor }: Listed, style: Style): string =>
  sections(found.length === 0 ? 'No items.' : table(style, columns(style), found), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

export const itemView = (one: Item, style: Style): string =>
  fields(style, [
    ['item', one.id],
    ['slug', one.slug],
    ['name', clean(one.name)],
    ['status', one.status],
    ['version', one.version],
    ['price', `${priceText(one)}${one.priceModel !== null && one.paymentPriceId === null ? ' (the provider has no price yet)' : ''}`],
    ['vendor', `${clean(one.vendorName)}${one.vendorId === null ? '' : ` (${one.vendorId})`}`],
  ])
