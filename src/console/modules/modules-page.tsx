import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ModuleHealth, OperatedModule } from '../../core/modules/index.ts'
import { ActionDialog, actionColumn, api, Empty, ListPage, queryClient, quoted, Status, type TableColumn, useMay } from '../kit/index.ts'
import { milliseconds, percent, priceText } from './numbers.ts'
import { words } from './words.ts'

type Row = OperatedModule & Readonly<{ health: ModuleHealth['performance'] | undefined }>

const columnsWith = (change: (row: Row) => void, why: string | undefined): readonly TableColumn<Row>[] => [
  { key: 'module', title: 'Module', width: 'minmax(160px, 2fr)', value: ({ moduleId }) => moduleId },
  { key: 'version', title: 'Version', width: '80px', value: ({ version }) => version },
  { key: 'type', title: 'Type', width: '60px', value: ({ type }) => type },
  { key: 'status', title: 'Status', width: '130px', value: ({ status }) => status, cell: (row) => <Health row={row} /> },
  { key: 'price', title: 'Price', width: '120px', align: 'right', value: ({ price }) => price?.cents ?? 0, cell: priceText },
  { key: 'active', title: 'Active', width: '70px', align: 'right', value: ({ activeInstallations }) => activeInstallations },
  { key: 'installed', title: 'Installed', width: '80px', align: 'right', value: ({ installations }) => installations },
  {
    key: 'p95',
    title: 'p95',
    width: '90px',
    align: 'right',
    value: ({ health }) => health?.p95Ms,
    cell: ({ health }) => (health ? milliseconds(health.p95Ms) : '–'),
  },
  {
    key: 'p99',
    title: 'p99',
    width: '90px',
    align: 'right',
    value: ({ health }) => health?.p99Ms,
    cell: ({ health }) => (health ? milliseconds(health.p99Ms) : '–'),
  },
  {
    key: 'errors',
    title: 'Errors',
    width: '80px',
    align: 'right',
    value: ({ health }) => health?.errorRate,
    cell: ({ health }) => (health ? percent(health.errorRate) : '–'),
  },
  {
    key: 'violations',
    title: 'Violations',
    width: 'minmax(120px, 2fr)',
    value: ({ health }) => health?.violations.length ?? 0,
    cell: ({ health }) => (health?.violations.length ? health.violations.map(({ kind, count }) => `${kind} ${count}`).join(', ') : '–'),
  },
  actionColumn(verbOf, ({ moduleId }) => moduleId, { why, press: change }),
]

const verbOf = ({ status }: Row) => (status === 'withdrawn' ? words.restore : words.withdraw)

function Health({ row: { status, health, withdrawn } }: Readonly<{ row: Row }>) {
  if (status === 'withdrawn')
    return (
      <Status tone="failed" title={withdrawn[0]?.reason}>
        withdrawn
      </Status>
    )
  if (!health) return <Status tone="off">idle</Status>
  return health.healthy ? <Status tone="ok">healthy</Status> : <Status tone="failed">unhealthy</Status>
}

export function Page() {
  const modules = useQuery({ queryKey: ['modules', 'list'], queryFn: () => api.modules.listModules() })
  const health = useQuery({ queryKey: ['modules', 'health'], queryFn: () => api.modules.listModuleHealth() })
  const [changing, setChanging] = useState<Row>()
  const { why } = useMay('modules', 'withdrawModule')
  const sick = health.data?.modules.filter(({ performance }) => !performance.healthy).length ?? 0
  const healthOf = ({ moduleId: id }: OperatedModule) => health.data?.modules.find(({ moduleId }) => moduleId === id)?.performance
  return (
    <ListPage
      title={words.title}
      answer={
        modules.data?.modules.length && health.data ? (
          sick === 0 ? (
            <Status tone="ok">{words.calm}</Status>
          ) : (
            <Status tone="failed">{words.sick(sick)}</Status>
          )
        ) : null
      }
      filters={[{ text: 'Filter by name', of: ({ moduleId, name }) => `${moduleId} ${name}` }]}
      query={modules}
      rows={({ modules: all }) => all.map((one) => ({ ...one, health: healthOf(one) }))}
      columns={columnsWith(setChanging, why)}
      rowKey={({ moduleId }) => moduleId}
      rowLink={({ moduleId }) => `/modules/${moduleId}`}
      empty={
        <Empty title={words.none} tone="off">
          <p className="dim">{words.noneHint}</p>
        </Empty>
      }
    >
      {changing?.status === 'active' && <Withdraw row={changing} onClose={() => setChanging(undefined)} />}
      {changing?.status === 'withdrawn' && <Restore row={changing} onClose={() => setChanging(undefined)} />}
    </ListPage>
  )
}

const again = () => queryClient.invalidateQueries({ queryKey: ['modules'] })

const Withdraw = ({ row: { moduleId: id, activeInstallations }, onClose }: Readonly<{ row: Row; onClose(): void }>) => (
  <ActionDialog
    title={words.withdrawTitle(id)}
    consequence={words.withdrawConsequence(activeInstallations)}
    reason="required"
    confirm={words.withdraw}
    danger
    cli={({ reason }) => `tenantry modules withdraw ${id} --reason ${quoted(reason)}`}
    run={async ({ reason }) => {
      await api.modules.withdrawModule({ params: { id }, body: { reason } })
      await again()
    }}
    onClose={onClose}
  />
)

const Restore = ({ row: { moduleId: id }, onClose }: Readonly<{ row: Row; onClose(): void }>) => (
  <ActionDialog
    title={words.restoreTitle(id)}
    consequence={words.restoreConsequence}
    confirm={words.restore}
    cli={() => `tenantry modules restore ${id}`}
    run={async () => {
      await api.modules.restoreModule({ params: { id }, body: {} })
      await again()
    }}
    onClose={onClose}
  />
)
