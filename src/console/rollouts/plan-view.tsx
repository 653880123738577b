import { versionMoves } from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import {
  type FindingKind,
  fenceEndText,
  findingsByKind,
  imageSource,
  inPhaseOrder,
  type PlannedBox,
  type RolloutPlan,
  rolloutWord,
} from '../../core/rollouts/index.ts'
import { Ago, DataTable, Empty, Id, Link, Section, Status, type TableColumn, useNow } from '../kit/index.ts'
import { PlannedGates } from './gates.tsx'
import { statusTone } from './tones.ts'
import { words } from './words.ts'

const { plan: text } = words

/** Blockers first, because they prevent the start; then the order of the boxes, warnings and images. */
export const PlanView = ({ plan }: Readonly<{ plan: RolloutPlan }>) => (
  <>
    <Blocked plan={plan} />
    <Active plan={plan} />
    <Order plan={plan} />
    <Fences plan={plan} />
    <Findings title={text.warnings} kinds={findingsByKind(plan.boxes, 'warn')} tone="warning" />
    <Images plan={plan} />
    <PlannedGates gates={plan.gates} />
  </>
)

export const Blocked = ({ plan }: Readonly<{ plan: RolloutPlan }>) => (
  <Findings
    title={() => text.blocked(plan.refusals)}
    kinds={findingsByKind(
      plan.boxes.filter(({ does }) => does === 'refuse'),
      'refuse',
    )}
    tone="failed"
  />
)

type FindingsProps = Readonly<{ title(count: number): string; kinds: readonly FindingKind[]; tone: 'failed' | 'warning' }>

const maxPerKind = 5

function Findings({ title, kinds, tone }: FindingsProps) {
  if (kinds.length === 0) return null
  const count = new Set(kinds.flatMap(({ lines }) => lines.map(({ slug }) => slug))).size
  return (
    <Section title={title(count)}>
      <ul className="findings">
        {kinds.map(({ code, lines }) => (
          <li key={code}>
            <Status tone={tone}>{code}</Status>
            <ul>
              {lines.slice(0, maxPerKind).map(({ slug, message }) => (
                <li key={`${slug} ${message}`}>
                  <b>{slug}</b>: {message}
                </li>
              ))}
              {lines.length > maxPerKind && (
                <li>
                  <details>
                    <summary>{text.moreOf(lines.length - maxPerKind)}</summary>
                    <p>
                      {lines
                        .slice(maxPerKind)
                        .map(({ slug }) => slug)
                        .join(', ')}
                    </p>
                  </details>
                </li>
              )}
            </ul>
          </li>
        ))}
      </ul>
    </Section>
  )
}

export function Active({ plan: { activeRollouts = [] } }: Readonly<{ plan: Pick<RolloutPlan, 'activeRollouts'> }>) {
  if (activeRollouts.length === 0) return null
  return (
    <Section title={text.active}>
      <ul className="lines">
        {activeRollouts.map(({ rolloutId, status, slugs }) => (
          <li key={rolloutId}>
            <Status tone={statusTone(status)}>{rolloutWord(status)}</Status>
            <Link to={`/rollouts/${rolloutId}`}>{rolloutId}</Link>
            <span className="dim grow">
              {slugs.slice(0, maxPerKind).join(', ')}
              {slugs.length > maxPerKind ? ` ${text.moreOf(slugs.length - maxPerKind)}` : ''}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const columns = (now: Date): readonly TableColumn<PlannedBox>[] => [
  { key: 'box', title: text.columns.box, width: 'minmax(136px, 1fr)', value: ({ tenantSlug }) => tenantSlug },
  { key: 'phase', title: text.columns.phase, width: '80px', value: ({ phase }) => phase, sortable: false },
  { key: 'host', title: text.columns.host, width: '88px', value: ({ hostId, hostName }) => hostName ?? hostId },
  { key: 'versions', title: text.columns.versions, width: '208px', value: ({ from, to }) => versionMoves(from, to) },
  {
    key: 'window',
    title: text.columns.window,
    width: '88px',
    value: ({ window }) => window?.opensAt ?? '',
    cell: ({ window }) =>
      window ? (
        Date.parse(window.opensAt) <= now.getTime() ? (
          text.open
        ) : (
          <Ago at={window.opensAt} />
        )
      ) : (
        <span className="dim">{text.anyTime}</span>
      ),
  },
  {
    key: 'downtime',
    title: text.columns.downtime,
    width: '128px',
    align: 'right',
    value: ({ worstFenceMs }) => worstFenceMs,
    cell: ({ expectedFenceMs, worstFenceMs }) => (
      <>
        {duration(expectedFenceMs)}
        <span className="dim"> / {duration(worstFenceMs)}</span>
      </>
    ),
  },
  {
    key: 'opens',
    title: text.columns.opens,
    width: '104px',
    value: ({ fenceMode }) => fenceMode && fenceEndText(fenceMode),
    cell: ({ fenceMode, fenceReason, snapshotMode, snapshotReason }) =>
      fenceMode && (
        <span title={fenceReason ?? snapshotReason}>
          {fenceEndText(fenceMode)}
          {snapshotMode && snapshotMode !== 'before' && <span className="dim">, {text[snapshotMode]}</span>}
        </span>
      ),
  },
  {
    key: 'duration',
    title: text.columns.duration,
    width: '80px',
    align: 'right',
    value: ({ expectedMs }) => expectedMs,
    cell: ({ expectedMs }) => duration(expectedMs),
  },
  {
    key: 'findings',
    title: text.columns.findings,
    width: 'minmax(96px, 1fr)',
    value: ({ findings }) => findings.map(({ code }) => code).join(' '),
    cell: ({ findings }) => (findings.length > 0 ? <Status tone="warning">{findings.map(({ code }) => code).join(' ')}</Status> : null),
  },
]

function Order({ plan }: Readonly<{ plan: RolloutPlan }>) {
  const now = useNow()
  const isCurrent = plan.refusals === 0 && plan.boxes.length > 0
  const moving = inPhaseOrder(plan).filter(({ does }) => does === 'update')
  return (
    <Section
      title={text.order}
      aside={plan.phases
        .map(({ phase }) => ({ phase, count: moving.filter((box) => box.phase === phase).length }))
        .filter(({ count }) => count > 0)
        .map(({ phase, count }) => `${phase} ${count}`)
        .join(' · ')}
    >
      <DataTable
        label={text.order}
        columns={columns(now)}
        rows={moving}
        rowKey={({ tenantSlug }) => tenantSlug}
        reserve={280}
        empty={<Empty title={isCurrent ? text.upToDate : text.nothing} tone={isCurrent ? 'ok' : 'off'} />}
      />
    </Section>
  )
}

/** Why boxes stay in maintenance until they are stable, and why their database is copied during it, as `tenantry rollouts plan` says it. */
function Fences({ plan }: Readonly<{ plan: RolloutPlan }>) {
  const reasons = new Map<string, string[]>()
  const add = (line: string, slug: string) => reasons.set(line, [...(reasons.get(line) ?? []), slug])
  for (const { does, tenantSlug, fenceReason, snapshotReason, from, to, upgrade } of plan.boxes) {
    if (does !== 'update') continue
    if (upgrade) add(text.upgrade(`${from.postgres} → ${to.postgres}`, duration(upgrade.downtimeMs ?? 0)), tenantSlug)
    if (fenceReason) add(text.noRollback(fenceReason), tenantSlug)
    if (snapshotReason) add(text.noHotCopy(snapshotReason), tenantSlug)
  }
  if (reasons.size === 0) return null
  return (
    <Section title={text.fences}>
      <ul className="lines">
        {[...reasons].map(([reason, slugs]) => (
          <li key={reason}>
            <span className="grow">{reason}</span>
            <span className="dim">
              {slugs.slice(0, maxPerKind).join(', ')}
              {slugs.length > maxPerKind ? ` ${text.moreOf(slugs.length - maxPerKind)}` : ''}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

export function Images({ plan: { images = [] } }: Readonly<{ plan: RolloutPlan }>) {
  if (images.length === 0) return null
  return (
    <Section title={text.images}>
      <ul className="lines">
        {images.map((image) => (
          <li key={image.image}>
            <code>{image.image}</code>
            {image.digest && <Id short={image.digest.slice(0, 19)}>{image.digest}</Id>}
            <span className={`grow ${image.digest ? 'dim' : 'tone-warning'}`}>{imageSource(image)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}
