import { useQuery } from '@tanstack/react-query'
import type { Vendor } from '../../core/marketplace/index.ts'
import { agoColumn, api, CliLine, Empty, ListPage, Section, statusColumn, type TableColumn, type Tone } from '../kit/index.ts'
import { Tabs } from './tabs.tsx'
import { words } from './words.ts'

const tones = { active: 'ok', pending: 'waiting', restricted: 'failed' } as const satisfies Record<Vendor['paymentAccountStatus'], Tone>

const columns: readonly TableColumn<Vendor>[] = [
  { key: 'name', title: 'Vendor', width: 'minmax(160px, 2fr)', value: ({ name }) => name },
  statusColumn(({ paymentAccountStatus }) => paymentAccountStatus, tones, { title: 'Payment account', width: '140px' }),
  { key: 'fee', title: 'Fee', width: '80px', align: 'right', value: ({ applicationFeePercent }) => `${applicationFeePercent} %` },
  { key: 'country', title: 'Country', width: '80px', value: ({ country }) => country },
  { key: 'mail', title: 'Contact', width: 'minmax(180px, 2fr)', value: ({ contactEmail }) => contactEmail },
  { key: 'id', title: 'Id', width: '290px', value: ({ id }) => id },
  agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
]

const maxShown = 10

/** The command for each vendor that cannot be paid yet. */
function Onboarding({ vendors }: Readonly<{ vendors: readonly Vendor[] }>) {
  const unpaid = vendors.filter(({ paymentAccountStatus }) => paymentAccountStatus !== 'active').slice(0, maxShown)
  if (unpaid.length === 0) return null
  return (
    <Section title={words.onboarding}>
      <p className="prose">{words.onboardingHint}</p>
      {unpaid.map(({ id, name }) => (
        <div key={id}>
          <p>{name}</p>
          <CliLine>{`tenantry marketplace vendors onboard ${id}`}</CliLine>
        </div>
      ))}
    </Section>
  )
}

export function Page() {
  const vendors = useQuery({
    queryKey: ['marketplace', 'vendors'],
    queryFn: () => api.marketplace.listVendors({ query: { limit: 200 } }),
  })
  return (
    <ListPage
      title={words.vendors}
      above={<Tabs current="vendors" />}
      query={vendors}
      rows={({ vendors: rows }) => rows}
      columns={columns}
      rowKey={({ id }) => id}
      rowLink={({ id }) => `/marketplace/vendors/${id}`}
      empty={
        <Empty title={words.noVendors} tone="off">
          <p className="dim">{words.noVendorsHint}</p>
        </Empty>
      }
      reserve={240}
    >
      {vendors.data && <Onboarding vendors={vendors.data.vendors} />}
    </ListPage>
  )
}
