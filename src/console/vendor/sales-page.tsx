import { useQuery } from '@tanstack/react-query'
import { plural } from '../../core/kit/index.ts'
import { moneyText, sumsOf } from '../../core/payments/index.ts'
import { api, KeyValues, Link, Loaded, PageHeader, PlainList } from '../kit/index.ts'

export function Page() {
  const query = useQuery({ queryKey: ['vendor', 'sales'], queryFn: () => api.vendor.listVendorSales() })
  return (
    <>
      <PageHeader title="Sales" answer="Before fee, tax, refunds and unpaid invoices." />
      <Loaded query={query}>
        {({ from, to, sales }) => (
          <>
            <KeyValues
              facts={[
                ['Months', `${from} to ${to}`],
                ['Total', sumsOf(sales).map(moneyText).join(', ')],
              ]}
            />
            <PlainList
              label="Sales"
              rows={sales}
              rowKey={({ month, itemId, currency, cents, quantity }) => `${month} ${itemId} ${currency} ${cents} ${quantity}`}
              empty="Nothing was sold in these months"
              columns={[
                { title: 'Month', cell: ({ month }) => month },
                { title: 'Item', cell: ({ itemId, name }) => <Link to={`/items/${itemId}`}>{name}</Link> },
                {
                  title: 'Sold',
                  cell: ({ quantity, priceModel }) => plural(quantity, priceModel === 'flat-monthly' ? 'month' : 'active user'),
                },
                { title: 'Amount', isNamed: true, cell: ({ cents, currency }) => moneyText({ cents, currency }) },
              ]}
            />
          </>
        )}
      </Loaded>
    </>
  )
}
