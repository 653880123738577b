import { useQuery } from '@tanstack/react-query'
import { moneyText } from '../../core/payments/index.ts'
import { api, Loaded, PageHeader, PlainList, Status } from '../kit/index.ts'

const states = { listed: 'listed', waiting: 'waits for the payment account', transferred: 'transferred' } as const

export function Page() {
  const query = useQuery({ queryKey: ['vendor', 'payouts'], queryFn: () => api.vendor.listVendorPayouts() })
  return (
    <>
      <PageHeader title="Payouts" answer="Monthly statements of modules whose developer is paid through your vendor." />
      <Loaded query={query}>
        {({ payouts }) => (
          <PlainList
            label="Payouts"
            rows={payouts}
            rowKey={({ id }) => id}
            empty="No statements yet"
            columns={[
              { title: 'Month', cell: ({ month }) => month },
              { title: 'Billed', isNamed: true, cell: ({ grossCents: cents, currency }) => moneyText({ cents, currency }) },
              { title: 'Fee', isNamed: true, cell: ({ feeCents: cents, currency }) => moneyText({ cents, currency }) },
              { title: 'Not paid yet', isNamed: true, cell: ({ heldCents: cents, currency }) => moneyText({ cents, currency }) },
              { title: 'Refunds', isNamed: true, cell: ({ deductedCents: cents, currency }) => moneyText({ cents, currency }) },
              { title: 'Payout', isNamed: true, cell: ({ netCents: cents, currency }) => moneyText({ cents, currency }) },
              {
                title: 'State',
                cell: ({ state }) => <Status tone={state === 'transferred' ? 'ok' : 'waiting'}>{states[state]}</Status>,
              },
            ]}
          />
        )}
      </Loaded>
    </>
  )
}
