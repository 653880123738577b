import { useQuery } from '@tanstack/react-query'
import type { Tenant } from '../../core/tenants/index.ts'
import { windowText } from '../../core/wall-clock/index.ts'
import { agoColumn, CliLine, Empty, ListPage, statusColumn, type TableColumn } from '../kit/index.ts'
import { tenantsQuery, tenantTones } from './queries.ts'
import { words } from './words.ts'

const columns: readonly TableColumn<Tenant>[] = [
  { key: 'tenant', title: 'Tenant', width: 'minmax(160px, 1fr)', value: ({ slug }) => slug },
  { key: 'name', title: 'Name', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
  { key: 'plan', title: 'Plan', width: '80px', value: ({ plan }) => plan },
  statusColumn(({ status }) => status, tenantTones, { width: '96px' }),
  { key: 'domain', title: 'Chat domain', width: 'minmax(160px, 2fr)', value: ({ chatDomain }) => chatDomain },
  {
    key: 'window',
    narrow: 'hidden',
    title: 'Maintenance window',
    width: 'minmax(160px, 2fr)',
    value: ({ window }) => (window ? `${windowText(window.window)} ${window.timeZone}` : 'any time'),
  },
  agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
]

export function Page() {
  const tenants = useQuery(tenantsQuery)
  const suspended = tenants.data?.filter(({ status }) => status !== 'active').length ?? 0
  return (
    <ListPage
      title={words.title}
      answer={
        tenants.data &&
        tenants.data.length > 0 &&
        (suspended === 0 ? words.count(tenants.data.length) : words.suspendedCount(tenants.data.length, suspended))
      }
      filters={[
        { text: 'Filter by name or domain', of: ({ slug, name, chatDomain }) => `${slug} ${name} ${chatDomain}` },
        { label: 'Plan', name: 'plan', choices: ['light', 'pro', 'dedicated'], of: ({ plan }) => plan },
        { label: 'Status', name: 'status', choices: Object.keys(tenantTones), of: ({ status }) => status },
      ]}
      query={tenants}
      rows={(all) => all}
      columns={columns}
      rowKey={({ slug }) => slug}
      rowLink={({ slug }) => `/tenants/${slug}`}
      empty={
        <Empty title={words.none} tone="off">
          <p>{words.noneHint}</p>
          <CliLine>tenantry boxes provision --help</CliLine>
        </Empty>
      }
      noMatch={words.noMatch}
    />
  )
}
