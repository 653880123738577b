import { useQuery } from '@tanstack/react-query'
import { plural } from '../../core/kit/index.ts'
import { moneyText, sumsOf } from '../../core/payments/index.ts'
import { api, ChoiceFilter, KeyValues, Link, Loaded, now, PageHeader, PlainList, useSearchState } from '../kit/index.ts'

/** Years to choose from, the present one first. */
const shownYears = 6

function recentYears(): string[] {
  const year = now().getUTCFullYear()
  return Array.from({ length: shownYears }, (_, back) => String(year - back))
}

export function Page() {
  const [{ year }] = useSearchState()
  const range = recentYears().some((one) => one === year) ? { from: `${year}-01`, to: `${year}-12` } : {}
  const query = useQuery({
    queryKey: ['vendor', 'sales', range],
    queryFn: () => api.vendor.listVendorSales({ query: range }),
  })
  return (
    <>
      <PageHeader title="Sales" answer="Before fee, tax, refunds and unpaid invoices." />
      <ChoiceFilter label="Year" name="year" none="a year back" choices={recentYears().map((one) => ({ value: one, label: one }))} />
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
