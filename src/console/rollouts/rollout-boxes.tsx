import { memo, useMemo } from 'react'
import { duration } from '../../core/kit/index.ts'
import {
  allBoxes,
  type BoardModel,
  type BoardState,
  byPhase,
  errorOf,
  lastMoveText,
  outcomeWord,
  phaseOrder,
  type RolloutAction,
  skipReason,
  waitOf,
} from '../../core/rollouts/index.ts'
import {
  ChoiceFilter,
  DataTable,
  Duration,
  Empty,
  Id,
  Link,
  Section,
  Status,
  type TableColumn,
  TextFilter,
  useSearchState,
} from '../kit/index.ts'
import { outcomeTone } from './tones.ts'
import { words } from './words.ts'

const { page: text } = words

/** The boxes that are updated at this moment, with their step. */
export function InFlight({ model }: Readonly<{ model: BoardModel }>) {
  if (model.running.length === 0) return null
  return (
    <Section title={text.inFlight} aside={words.boxes(model.running.length)}>
      <ul className="flights">
        {model.running.map(({ slug, phase, step, detail, elapsedMs, expectedMs }) => (
          <li key={slug}>
            <Link to={`/rollouts/${model.id}/boxes/${slug}`}>{slug}</Link>
            <Status tone={step === 'rolling back' ? 'warning' : 'working'}>{step}</Status>
            <span className="dim grow">{detail || phase}</span>
            <span className="meter" aria-hidden="true">
              <span style={{ width: `${Math.min(100, (elapsedMs / Math.max(1, expectedMs ?? elapsedMs)) * 100)}%` }} />
            </span>
            <span className="num">{text.elapsedOf(elapsedMs, expectedMs)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const columns: readonly TableColumn<RolloutAction>[] = [
  { key: 'box', title: text.columns.box, width: 'minmax(144px, 2fr)', value: ({ tenantSlug }) => tenantSlug },
  { key: 'phase', title: text.columns.phase, width: '76px', value: ({ phase }) => phase },
  {
    key: 'status',
    title: text.columns.status,
    width: '156px',
    value: outcomeWord,
    cell: (action) => <Status tone={outcomeTone(action)}>{outcomeWord(action)}</Status>,
  },
  { key: 'versions', title: text.columns.versions, width: '208px', value: lastMoveText },
  {
    key: 'duration',
    title: text.columns.duration,
    width: '72px',
    align: 'right',
    value: ({ durationMs }) => durationMs,
    cell: ({ durationMs }) => <Duration ms={durationMs} />,
  },
  {
    key: 'downtime',
    title: text.columns.downtime,
    width: '156px',
    align: 'right',
    value: ({ fencedMs }) => fencedMs,
    cell: ({ fencedMs, expectedFenceMs }) => (
      <>
        <Duration ms={fencedMs} />
        <span className="dim"> / {expectedFenceMs > 0 ? duration(expectedFenceMs) : '–'}</span>
      </>
    ),
  },
  {
    key: 'snapshot',
    narrow: 'hidden',
    title: text.columns.snapshot,
    width: '92px',
    value: ({ snapshotId }) => snapshotId,
    cell: ({ snapshotId }) => (snapshotId ? <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id> : <span className="dim">–</span>),
  },
  { key: 'why', title: text.columns.why, width: 'minmax(88px, 1fr)', sortable: false, value: whyOfBox },
]

/** Why it waits, why it was skipped, or its error. */
function whyOfBox(action: RolloutAction): string {
  const error = errorOf(action)
  return waitOf(action) ?? (error ? `${error.message} [${error.code}]` : (skipReason(action) ?? ''))
}

type BoxesProps = Pick<BoardState, 'rollout' | 'actions'>

/** All boxes of the rollout; rendered again only when one of them changed, not with each second. */
export const Boxes = memo(function Boxes({ rollout, actions }: BoxesProps) {
  const [{ q = '', status = '', phase = '' }] = useSearchState()
  const all = useMemo(() => allBoxes(actions).toSorted(byPhase(rollout)), [actions, rollout])
  const shown = all.filter(
    (action) =>
      (!q || action.tenantSlug.includes(q.toLowerCase())) &&
      (!status || outcomeWord(action) === status) &&
      (!phase || action.phase === phase),
  )
  const statuses = [...new Set(all.map(outcomeWord))].sort()
  return (
    <Section
      title={text.boxesTitle}
      aside={shown.length === all.length ? words.boxes(all.length) : `${shown.length} of ${words.boxes(all.length)}`}
    >
      <div className="toolbar">
        <TextFilter label="Filter boxes" />
        <ChoiceFilter label="Status" name="status" choices={statuses.map((value) => ({ value, label: value }))} />
        <ChoiceFilter label="Phase" name="phase" choices={phaseOrder[rollout.kind].map((value) => ({ value, label: value }))} />
      </div>
      <DataTable
        label={text.boxesTitle}
        columns={columns}
        rows={shown}
        rowKey={({ tenantSlug }) => tenantSlug}
        rowLink={({ tenantSlug }) => `/rollouts/${rollout.id}/boxes/${tenantSlug}`}
        reserve={320}
        empty={<Empty title={text.noBoxes} tone="off" />}
      />
    </Section>
  )
})
