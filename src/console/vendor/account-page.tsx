import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { VendorAccount } from '../../core/marketplace/index.ts'
import {
  ActionDialog,
  api,
  Button,
  closed,
  dayAndTime,
  KeyValues,
  Loaded,
  PageHeader,
  PlainList,
  ProblemView,
  Section,
  Status,
  type Tone,
  useAttempt,
} from '../kit/index.ts'
import { accountQuery, queryClient } from './queries.ts'

type Vendor = VendorAccount['vendors'][number]

const accountTones = { pending: 'waiting', active: 'ok', restricted: 'warning' } as const satisfies Record<
  Vendor['paymentAccountStatus'],
  Tone
>

export function Page() {
  const query = useQuery(accountQuery)
  const navigate = useNavigate()
  const { busy, error, attempt } = useAttempt()
  const logOut = () =>
    attempt(async () => {
      await closed(api.vendor.closeVendorSession())
      await navigate({ to: '/login', replace: true })
      queryClient.clear()
    })
  return (
    <>
      <PageHeader
        title="Account"
        actions={
          <Button onPress={logOut} isDisabled={busy}>
            Log out
          </Button>
        }
      />
      {error !== undefined && <ProblemView error={error} />}
      <Loaded query={query}>
        {({ email, expiresAt, vendors }) => (
          <>
            <KeyValues
              facts={[
                ['Address', email],
                ['Session ends', dayAndTime(expiresAt)],
              ]}
            />
            <Vendors vendors={vendors} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Vendors({ vendors }: Pick<VendorAccount, 'vendors'>) {
  const [asked, setAsked] = useState<Vendor>()
  return (
    <Section title="Vendors">
      <PlainList
        label="Vendors"
        rows={vendors}
        rowKey={({ id }) => id}
        empty="No vendor yet: the first approved submission creates it"
        columns={[
          { title: 'Name', cell: ({ name }) => name },
          { title: 'Country', isNamed: true, cell: ({ country }) => country },
          { title: 'Fee', isNamed: true, cell: ({ applicationFeePercent }) => `${applicationFeePercent} %` },
          {
            title: 'Payment account',
            isNamed: true,
            cell: ({ paymentAccountStatus: status }) => <Status tone={accountTones[status]}>{status}</Status>,
          },
          {
            title: 'Action',
            cell: (vendor) => vendor.paymentAccountStatus !== 'active' && <Button onPress={() => setAsked(vendor)}>Complete…</Button>,
          },
        ]}
      />
      {asked && <Complete vendor={asked} onClose={() => setAsked(undefined)} />}
    </Section>
  )
}

const Complete = ({ vendor: { id, name }, onClose }: Readonly<{ vendor: Vendor; onClose(): void }>) => (
  <ActionDialog
    title={`Complete the payment account of ${name}?`}
    consequence={<p>This opens the page of the payment provider, where you enter what it needs to pay you.</p>}
    confirm="Open the page"
    run={async () => {
      const { url } = await api.vendor.openVendorOnboarding({ params: { id } })
      location.assign(url)
    }}
    onClose={onClose}
  />
)
