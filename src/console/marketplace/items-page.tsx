import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Item } from '../../core/marketplace/index.ts'
import {
  ActionDialog,
  actionColumn,
  agoColumn,
  api,
  Empty,
  ListPage,
  queryClient,
  Status,
  statusColumn,
  type TableColumn,
  useMay,
} from '../kit/index.ts'
import { itemsQuery, itemTones, priceWords } from './queries.ts'
import { Tabs } from './tabs.tsx'
import { words } from './words.ts'

const columnsWith = (change: (item: Item) => void, why: string | undefined): readonly TableColumn<Item>[] => [
  {
    key: 'name',
    title: 'Item',
    width: 'minmax(160px, 1fr)',
    value: ({ name }) => name,
    cell: ({ iconEmoji, name }) => `${iconEmoji} ${name}`,
  },
  { key: 'type', title: 'Type', width: '70px', value: ({ itemType }) => itemType },
  statusColumn(({ status }) => status, itemTones, { width: '100px' }),
  { key: 'version', title: 'Version', width: '80px', value: ({ version }) => version },
  {
    key: 'price',
    title: 'Price',
    width: 'minmax(190px, 1fr)',
    value: ({ priceCents }) => priceCents ?? 0,
    cell: (item) =>
      item.priceModel !== null && item.paymentPriceId === null ? (
        <Status tone="warning" title={words.needsPrice}>
          {priceWords(item)}
        </Status>
      ) : (
        priceWords(item)
      ),
  },
  { key: 'vendor', title: 'Vendor', width: 'minmax(110px, 1fr)', value: ({ vendorName }) => vendorName },
  { key: 'category', title: 'Category', width: '110px', value: ({ category }) => category },
  agoColumn(['updated', 'Updated'], ({ updatedAt }) => updatedAt),
  actionColumn(verbOf, ({ name }) => name, { why, press: change }),
]

const verbOf = ({ status }: Item) => (status === 'published' ? words.archive : words.publish)

export function Page() {
  const items = useQuery(itemsQuery)
  const [changing, setChanging] = useState<Item>()
  const { why } = useMay('marketplace', 'changeItem')
  return (
    <ListPage
      title={words.title}
      label={words.items}
      above={<Tabs current="items" />}
      filters={[
        { text: 'Filter by name or vendor', of: ({ name, vendorName }) => `${name} ${vendorName}` },
        { label: 'Status', name: 'status', choices: Object.keys(itemTones), of: ({ status }) => status },
      ]}
      query={items}
      rows={({ items: all }) => all}
      columns={columnsWith(setChanging, why)}
      rowKey={({ id }) => id}
      empty={<Empty title={words.noItems} tone="off" />}
      reserve={240}
    >
      {changing && <ChangeStatus item={changing} onClose={() => setChanging(undefined)} />}
    </ListPage>
  )
}

function ChangeStatus({ item, onClose }: Readonly<{ item: Item; onClose(): void }>) {
  const to = item.status === 'published' ? 'archived' : 'published'
  return (
    <ActionDialog
      title={words.statusTitle(item.name, verbOf(item))}
      consequence={to === 'archived' ? words.archiveConsequence : words.publishConsequence}
      confirm={verbOf(item)}
      danger={to === 'archived'}
      cli={() => `tenantry marketplace items update ${item.id} --status ${to}`}
      run={async () => {
        await api.marketplace.changeItem({ params: { id: item.id }, body: { status: to } })
        await queryClient.invalidateQueries({ queryKey: ['marketplace'] })
      }}
      onClose={onClose}
    />
  )
}
