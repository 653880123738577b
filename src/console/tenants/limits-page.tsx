import { useQuery } from '@tanstack/react-query'
import type { TenantUse } from '../../core/limits/index.ts'
import { api, CliLine, Empty, ListPage, Status, type TableColumn } from '../kit/index.ts'
import { words } from './words.ts'

const liveMs = 2000

const isSlowed = ({ remaining, slowdownMs }: TenantUse) => remaining === 0 || slowdownMs > 0

const columns: readonly TableColumn<TenantUse>[] = [
  { key: 'tenant', title: 'Tenant', width: 'minmax(180px, 1fr)', value: ({ slug }) => slug },
  {
    key: 'used',
    title: 'Used',
    width: 'minmax(200px, 2fr)',
    value: ({ utilisation }) => utilisation,
    cell: ({ utilisation, slug }) => (
      <span className="use">
        <meter min={0} max={100} high={80} value={Math.min(100, utilisation)} aria-label={`Budget used by ${slug}`} />
        <span className="num">{utilisation.toFixed(1)} %</span>
      </span>
    ),
  },
  { key: 'requests', title: 'Requests', width: '100px', align: 'right', value: ({ used }) => used },
  { key: 'budget', title: 'Budget per min', width: '130px', align: 'right', value: ({ budget }) => budget },
  {
    key: 'delay',
    title: 'Delay',
    width: '120px',
    value: ({ slowdownMs, remaining }) => (remaining === 0 ? Number.MAX_SAFE_INTEGER : slowdownMs),
    cell: (use) =>
      isSlowed(use) ? (
        <Status tone={use.remaining === 0 ? 'failed' : 'warning'}>
          {use.remaining === 0 ? 'refused' : `${(use.slowdownMs / 1000).toFixed(2)} s`}
        </Status>
      ) : (
        ''
      ),
  },
  { key: 'plan', narrow: 'hidden', title: 'Plan', width: '100px', value: ({ plan }) => plan },
  { key: 'name', title: 'Name', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
]

export function Page() {
  const limits = useQuery({
    queryKey: ['limits'],
    queryFn: () => api.limits.rateLimits({ query: { limit: 200 } }),
    refetchInterval: liveMs,
  })
  const slowed = limits.data?.tenants.filter(isSlowed).length
  return (
    <ListPage
      title={words.limits}
      answer={
        slowed !== undefined &&
        limits.data?.tenants.length !== 0 &&
        (slowed === 0 ? <Status tone="ok">{words.limitsCalm}</Status> : <Status tone="failed">{words.limitsSlow(slowed)}</Status>)
      }
      filters={[{ text: 'Filter by tenant', of: ({ slug, name }) => `${slug} ${name}` }]}
      query={limits}
      rows={({ tenants }) => tenants}
      columns={columns}
      rowKey={({ slug }) => slug}
      rowLink={({ slug }) => `/tenants/${slug}`}
      empty={<Empty title={words.none} tone="off" />}
      noMatch={words.noMatch}
      below={({ windowSeconds, store }) => <p className="after-table dim">{words.window(windowSeconds, store)}</p>}
      reserve={260}
    >
      <CliLine>tenantry limits top</CliLine>
    </ListPage>
  )
}
