import { useQuery } from '@tanstack/react-query'
import type { Tenant } from '../../core/tenants/index.ts'
import { windowText } from '../../core/wall-clock/index.ts'
import {
  Ago,
  ChoiceFilter,
  CliLine,
  DataTable,
  Empty,
  Loaded,
  PageHeader,
  Status,
  type TableColumn,
  TextFilter,
  useSearchState,
} from '../kit/index.ts'
import { tenantsQuery, tenantTones } from './queries.ts'
import { words } from './words.ts'

const columns: readonly TableColumn<Tenant>[] = [
  { key: 'tenant', title: 'Tenant', width: 'minmax(160px, 1fr)', value: ({ slug }) => slug },
  { key: 'name', title: 'Name', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
  { key: 'plan', title: 'Plan', width: '80px', value: ({ plan }) => plan },
  {
    key: 'status',
    title: 'Status',
    width: '96px',
    value: ({ status }) => status,
    cell: ({ status }) => <Status tone={tenantTones[status]}>{status}</Status>,
  },
  { key: 'domain', title: 'Chat domain', width: 'minmax(160px, 2fr)', value: ({ chatDomain }) => chatDomain },
  {
    key: 'window',
    title: 'Maintenance window',
    width: 'minmax(160px, 2fr)',
    value: ({ window }) => (window ? `${windowText(window.window)} ${window.timeZone}` : 'any time'),
  },
  {
    key: 'created',
    title: 'Created',
    width: '110px',
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Ago at={createdAt} />,
  },
]

const plans = ['light', 'pro', 'dedicated'].map((value) => ({ value, label: value }))
const statuses = Object.keys(tenantTones).map((value) => ({ value, label: value }))

export function Page() {
  const tenants = useQuery(tenantsQuery)
  const suspended = tenants.data?.filter(({ status }) => status !== 'active').length ?? 0
  return (
    <>
      <PageHeader
        title={words.title}
        answer={
          tenants.data &&
          tenants.data.length > 0 && (
            <span>{suspended === 0 ? words.count(tenants.data.length) : words.suspendedCount(tenants.data.length, suspended)}</span>
          )
        }
      />
      <div className="toolbar">
        <TextFilter label="Filter by name or domain" />
        <ChoiceFilter label="Plan" name="plan" choices={plans} />
        <ChoiceFilter label="Status" name="status" choices={statuses} />
      </div>
      <Loaded query={tenants} rows={8}>
        {(all) => <Tenants tenants={all} />}
      </Loaded>
    </>
  )
}

function Tenants({ tenants }: Readonly<{ tenants: readonly Tenant[] }>) {
  const [{ q = '', plan, status }] = useSearchState()
  const text = q.trim().toLowerCase()
  const shown = tenants.filter(
    (one) =>
      (!plan || one.plan === plan) &&
      (!status || one.status === status) &&
      `${one.slug} ${one.name} ${one.chatDomain}`.toLowerCase().includes(text),
  )
  return (
    <DataTable
      label={words.title}
      columns={columns}
      rows={shown}
      rowKey={({ slug }) => slug}
      rowLink={({ slug }) => `/tenants/${slug}`}
      empty={
        tenants.length > 0 ? (
          <Empty title={words.noMatch} tone="off" />
        ) : (
          <Empty title={words.none} tone="waiting">
            <p>{words.noneHint}</p>
            <CliLine>tenantry boxes provision --help</CliLine>
          </Empty>
        )
      }
    />
  )
}
