import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Item } from '../../core/marketplace/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  ChoiceFilter,
  DataTable,
  Empty,
  Loaded,
  PageHeader,
  queryClient,
  Status,
  type TableColumn,
  TextFilter,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { itemsQuery, itemTones, priceWords } from './queries.ts'
import { Tabs } from './tabs.tsx'
import { words } from './words.ts'

const columnsWith = (change: (item: Item) => void, why: string | undefined): readonly TableColumn<Item>[] => [
  {
    key: 'name',
    title: 'Item',
    width: 'minmax(160px, 2fr)',
    value: ({ name }) => name,
    cell: ({ iconEmoji, name }) => `${iconEmoji} ${name}`,
  },
  { key: 'type', title: 'Type', width: '70px', value: ({ itemType }) => itemType },
  {
    key: 'status',
    title: 'Status',
    width: '100px',
    value: ({ status }) => status,
    cell: ({ status }) => <Status tone={itemTones[status]}>{status}</Status>,
  },
  { key: 'version', title: 'Version', width: '80px', value: ({ version }) => version },
  {
    key: 'price',
    title: 'Price',
    width: 'minmax(110px, 1fr)',
    value: ({ priceCents }) => priceCents ?? 0,
    cell: (item) =>
      item.priceModel !== null && item.paymentPriceId === null ? (
        <Status tone="waiting" title={words.needsPrice}>
          {priceWords(item)}
        </Status>
      ) : (
        priceWords(item)
      ),
  },
  { key: 'vendor', title: 'Vendor', width: 'minmax(110px, 1fr)', value: ({ vendorName }) => vendorName },
  { key: 'category', title: 'Category', width: '110px', value: ({ category }) => category },
  {
    key: 'updated',
    title: 'Updated',
    width: '100px',
    value: ({ updatedAt }) => updatedAt,
    cell: ({ updatedAt }) => <Ago at={updatedAt} />,
  },
  {
    key: 'change',
    title: 'Action',
    width: '90px',
    sortable: false,
    value: () => '',
    cell: (item) => (
      <Button look="quiet" why={why} onPress={() => change(item)} aria-label={`${verbOf(item)} ${item.name}`}>
        {verbOf(item)}…
      </Button>
    ),
  },
]

const verbOf = ({ status }: Item) => (status === 'published' ? words.archive : words.publish)
const statuses = Object.keys(itemTones).map((value) => ({ value, label: value }))

export function Page() {
  const items = useQuery(itemsQuery)
  const [{ q = '', status }] = useSearchState()
  const [changing, setChanging] = useState<Item>()
  const { why } = useMay('marketplace', 'changeItem')
  const text = q.trim().toLowerCase()
  return (
    <>
      <PageHeader title={words.title} />
      <Tabs current="items" />
      <div className="toolbar">
        <TextFilter label="Filter by name or vendor" />
        <ChoiceFilter label="Status" name="status" choices={statuses} />
      </div>
      <Loaded query={items} rows={6}>
        {({ items: all }) => (
          <DataTable
            label={words.items}
            columns={columnsWith(setChanging, why)}
            rows={all.filter((one) => (!status || one.status === status) && `${one.name} ${one.vendorName}`.toLowerCase().includes(text))}
            rowKey={({ id }) => id}
            empty={<Empty title={words.noItems} tone="off" />}
            reserve={240}
          />
        )}
      </Loaded>
      {changing && <ChangeStatus item={changing} onClose={() => setChanging(undefined)} />}
    </>
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
