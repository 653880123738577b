import { useInfiniteQuery } from '@tanstack/react-query'
import { api, Link, Loading, PageHeader, Pages, PlainList } from '../kit/index.ts'
import { ItemStatus, priceText } from './parts.tsx'

export function Page() {
  const query = useInfiniteQuery({
    queryKey: ['vendor', 'items'],
    queryFn: ({ pageParam }) => api.vendor.listVendorItems({ query: { limit: 50, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const items = query.data?.pages.flatMap((page) => page.items)
  return (
    <>
      <PageHeader title="Items" />
      <Pages query={query}>
        {query.isPending && <Loading />}
        {items && (
          <PlainList
            label="Items"
            rows={items}
            rowKey={({ id }) => id}
            empty="No items yet: a submission becomes an item when it is approved"
            columns={[
              {
                title: 'Name',
                cell: ({ id, name, iconEmoji }) => (
                  <Link to={`/items/${id}`}>
                    {iconEmoji} {name}
                  </Link>
                ),
              },
              { title: 'Version', isNamed: true, cell: ({ version }) => version },
              { title: 'Status', cell: (item) => <ItemStatus item={item} /> },
              { title: 'Installations', isNamed: true, cell: ({ installations }) => installations },
              { title: 'Price', isNamed: true, cell: (item) => priceText(item) },
            ]}
          />
        )}
      </Pages>
    </>
  )
}
