import { useQuery } from '@tanstack/react-query'
import {
  failuresIn,
  isOver,
  listedState,
  type RolloutKind,
  type RolloutStatus,
  type RolloutSummary,
  whyOf,
} from '../../core/rollouts/index.ts'
import { Ago, agoColumn, CliLine, Empty, Link, ListPage, Status, type TableColumn, useSearchState } from '../kit/index.ts'
import { listQuery } from './queries.ts'
import { rolloutTone } from './tones.ts'
import { words } from './words.ts'

const { list: text } = words

const columns: readonly TableColumn<RolloutSummary>[] = [
  { key: 'id', title: text.columns.id, width: '212px', value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  {
    key: 'status',
    title: text.columns.status,
    width: '156px',
    value: listedState,
    cell: (rollout) => (
      <Status tone={rolloutTone(rollout)}>
        {rollout.status === 'paused' && rollout.previousStatus ? `paused in ${rollout.previousStatus}` : listedState(rollout)}
      </Status>
    ),
  },
  {
    key: 'updated',
    title: text.columns.updated,
    width: '76px',
    align: 'right',
    value: ({ counts }) => counts.succeeded,
    cell: ({ counts }) => `${counts.succeeded}/${counts.total - counts.skipped}`,
  },
  {
    key: 'failed',
    title: text.columns.failed,
    width: '60px',
    align: 'right',
    value: ({ counts }) => failuresIn(counts),
    cell: ({ counts }) =>
      failuresIn(counts) > 0 ? <span className="tone-failed">{failuresIn(counts)}</span> : <span className="dim">0</span>,
  },
  {
    key: 'reason',
    title: text.columns.reason,
    width: 'minmax(220px, 1fr)',
    value: (rollout) =>
      [rollout.cveId && `${text.emergency} ${rollout.cveId}`, whyOf(rollout) ?? rollout.reason].filter(Boolean).join(': '),
  },
  {
    key: 'rolledBack',
    title: text.columns.rolledBack,
    width: '92px',
    align: 'right',
    value: ({ counts: { rollback } }) => rollback && `${rollback.done}/${rollback.total}`,
  },
  {
    key: 'waiting',
    narrow: 'hidden',
    title: text.columns.waiting,
    width: '108px',
    value: (rollout) => waitsUntil(rollout),
    cell: (rollout) => <Ago at={waitsUntil(rollout)} none="–" />,
  },
  agoColumn(['created', text.columns.created], ({ createdAt }) => createdAt),
  { key: 'by', narrow: 'hidden', title: text.columns.by, width: '96px', value: ({ createdBy }) => createdBy },
]

const waitsUntil = ({ waitingUntil, bakeUntil, status }: RolloutSummary): string | null =>
  status === 'paused' ? waitingUntil : (bakeUntil ?? waitingUntil)

/** Statuses as they are shown: a phase each, and an abort instead of `failed`. */
const statuses = [
  'queued',
  'canary',
  'free_5',
  'free_100',
  'pro',
  'enterprise',
  'paused',
  'done',
  'failed',
  'rolled_back',
] as const satisfies readonly RolloutStatus[]
const statusChoices = statuses.map((value) => ({
  value,
  label: value === 'failed' ? 'aborted' : value.replace('rolled_back', 'rolled back'),
}))
const kindChoices = [
  { value: 'staged', label: 'staged' },
  { value: 'emergency_cve', label: 'emergency' },
]

export function Page() {
  const [{ status, kind, cursor, q }] = useSearchState()
  const query = useQuery(
    listQuery({
      ...(status ? { status: status as RolloutStatus } : {}),
      ...(kind ? { kind: kind as RolloutKind } : {}),
      ...(cursor ? { cursor } : {}),
    }),
  )
  const open = query.data?.rollouts.filter((rollout) => !isOver(rollout.status)).length
  const paused = query.data?.rollouts.filter((rollout) => rollout.status === 'paused').length ?? 0
  const isFiltered = [status, kind, cursor, q].some(Boolean)
  return (
    <ListPage
      title={text.title}
      answer={
        open === undefined || isFiltered ? null : (
          <Status tone={paused > 0 ? 'failed' : open > 0 ? 'working' : query.data?.rollouts.length ? 'ok' : 'off'}>
            {text.answer(open, paused)}
          </Status>
        )
      }
      actions={
        <>
          <Link to="/plan" className="button primary">
            {words.plan.nav}
          </Link>
          <Link to="/rollouts/emergency" className="button">
            {words.plan.emergency}
          </Link>
        </>
      }
      filters={[
        { text: 'Filter rollouts', of: textOf },
        { label: 'Status', name: 'status', choices: statusChoices },
        { label: 'Kind', name: 'kind', choices: kindChoices },
      ]}
      query={query}
      rows={({ rollouts }) => rollouts}
      columns={columns}
      rowKey={({ id }) => id}
      rowLink={({ id }) => `/rollouts/${id}`}
      empty={
        <Empty title={text.empty} tone="off">
          <p>{text.emptyNext}</p>
          <CliLine>tenantry rollouts plan</CliLine>
        </Empty>
      }
      noMatch={text.none}
      next={({ nextCursor }) => nextCursor}
    />
  )
}

const textOf = (rollout: RolloutSummary): string => [rollout.id, rollout.reason, rollout.createdBy, rollout.cveId, whyOf(rollout)].join(' ')
