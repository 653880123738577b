import { useQuery } from '@tanstack/react-query'
import type { OperatorBoard } from '../../core/boards/index.ts'
import type { OperatorRun } from '../../core/runs/index.ts'
import {
  agoColumn,
  api,
  ChoiceFilter,
  DataTable,
  Empty,
  Loaded,
  PageHeader,
  Section,
  statusColumn,
  type TableColumn,
  useSearchState,
} from '../kit/index.ts'
import { boardTones, runStatus, runTones, tenantChoicesQuery } from './queries.ts'
import { SpaceName } from './space-name.tsx'
import { words } from './words.ts'

const boardColumns: readonly TableColumn<OperatorBoard>[] = [
  { key: 'name', title: 'Board', width: 'minmax(180px, 2fr)', value: ({ name }) => name },
  statusColumn(({ status }) => status, boardTones, { width: '120px' }),
  { key: 'id', title: 'Id', width: '230px', value: ({ id }) => id },
  {
    ...{ key: 'space', title: 'Space', width: 'minmax(140px, 1fr)', value: ({ spaceName }) => spaceName },
    cell: (board) => <SpaceName of={board} />,
  },
  { key: 'version', title: 'Version', width: '80px', align: 'right', value: ({ version }) => version },
  { key: 'published', title: 'Published', width: '90px', align: 'right', value: ({ publishedVersion }) => publishedVersion },
  agoColumn(['saved', 'Saved'], ({ updatedAt }) => updatedAt),
]

const runColumns: readonly TableColumn<OperatorRun>[] = [
  { key: 'board', title: 'Run of', width: 'minmax(180px, 2fr)', value: ({ boardName }) => boardName },
  statusColumn(runStatus, runTones, { width: '120px' }),
  {
    key: 'element',
    title: 'Element',
    width: 'minmax(120px, 1fr)',
    value: ({ activeElementIds, failure }) => activeElementIds.join(', ') || failure?.elementId,
  },
  agoColumn(['started', 'Started'], ({ startedAt }) => startedAt),
  agoColumn(['due', 'Due'], ({ slaDeadline }) => slaDeadline, { none: '–' }),
  { key: 'reason', title: 'Reason', width: 'minmax(160px, 3fr)', value: ({ failure }) => failure?.message },
]

const statuses = (['running', 'waiting', 'completed', 'failed'] satisfies OperatorRun['status'][]).map((value) => ({ value, label: value }))
const maxRows = 100

export function Page() {
  const [{ tenant }] = useSearchState()
  const tenants = useQuery(tenantChoicesQuery)
  return (
    <>
      <PageHeader title={words.title} />
      <Loaded query={tenants} rows={1}>
        {(choices) => (
          <div className="toolbar">
            <ChoiceFilter label={words.tenant} name="tenant" none={words.none} choices={choices} />
            <ChoiceFilter label="Runs" name="status" choices={statuses} />
          </div>
        )}
      </Loaded>
      {tenant ? <OfTenant slug={tenant} /> : <Empty title={words.choose} tone="off" />}
    </>
  )
}

function OfTenant({ slug }: Readonly<{ slug: string }>) {
  const boards = useQuery({
    queryKey: ['boards', slug],
    queryFn: () => api.boards.listTenantBoards({ params: { slug }, query: { limit: maxRows } }),
  })
  return (
    <Loaded query={boards} rows={4}>
      {({ boards: rows, nextCursor }) => (
        <>
          <DataTable
            label={words.title}
            columns={boardColumns}
            rows={rows}
            rowKey={({ id }) => id}
            rowLink={({ id }) => `/boards/${slug}/${id}`}
            empty={<Empty title={words.noBoards} tone="off" />}
            reserve={520}
          />
          {nextCursor !== null && <p className="dim">{words.newest(rows.length, `tenantry boards list --tenant ${slug}`)}</p>}
          <Runs slug={slug} />
        </>
      )}
    </Loaded>
  )
}

function Runs({ slug }: Readonly<{ slug: string }>) {
  const [{ status }] = useSearchState()
  const runs = useQuery({
    queryKey: ['runs', slug, status ?? ''],
    queryFn: () =>
      api.runs.listTenantRuns({
        params: { slug },
        query: { limit: maxRows, ...(status ? { status: status as OperatorRun['status'] } : {}) },
      }),
  })
  return (
    <Section title={words.runs}>
      <Loaded query={runs} rows={4}>
        {({ runs: rows, nextCursor }) => (
          <>
            <DataTable
              label={words.runs}
              columns={runColumns}
              rows={rows}
              rowKey={({ id }) => id}
              rowLink={({ id }) => `/runs/${slug}/${id}`}
              empty={<Empty title={status ? words.noRunMatches : words.noRuns} tone="off" />}
              reserve={520}
            />
            {nextCursor !== null && (
              <p className="dim">
                {words.newest(rows.length, `tenantry runs list --tenant ${slug}${status ? ` --status ${status}` : ''}`)}
              </p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}
