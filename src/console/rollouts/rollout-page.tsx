import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo } from 'react'
import { versionMoves } from '../../core/boxes/index.ts'
import { isProblem, plural } from '../../core/kit/index.ts'
import {
  allBoxes,
  type BoardModel,
  type BoardState,
  boardModel,
  boxOf,
  byPhase,
  errorOf,
  fenceModeText,
  isBoardOver,
  outcomeAfterFailure,
  outcomeWord,
  pausedPhase,
  phaseOf,
  phaseOrder,
  type RolloutAction,
  type RolloutReport,
  rolloutState,
  skipReason,
  stepWord,
  stopText,
  timelineText,
  updatedText,
  waitOf,
} from '../../core/rollouts/index.ts'
import {
  Ago,
  ChoiceFilter,
  CliLine,
  DataTable,
  Duration,
  Empty,
  type Fact,
  Icon,
  Id,
  KeyValues,
  Link,
  Loaded,
  Loading,
  PageHeader,
  ProblemView,
  queryClient,
  Section,
  Status,
  type TableColumn,
  TextFilter,
  Timeline,
  type TimelineEntry,
  useSearchState,
  useSeconds,
} from '../kit/index.ts'
import { reportQuery } from './queries.ts'
import { RolloutActions } from './rollout-actions.tsx'
import { outcomeTone, phaseTones, rolloutTone } from './tones.ts'
import { useBoard } from './use-board.ts'
import { words } from './words.ts'
import './rollouts.css'

const { page: text } = words

export function Page() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const { state, error, reload } = useBoard(id)
  if (state) return <Board state={state} />
  return (
    <>
      <PageHeader title={text.title(id)} />
      {error === undefined ? (
        <Loading rows={6} />
      ) : isProblem(error, 'NOT_FOUND') ? (
        <Empty title={text.notFound} tone="off">
          <Link to="/rollouts">{words.list.title}</Link>
        </Empty>
      ) : (
        <ProblemView error={error} onRetry={reload} />
      )}
    </>
  )
}

function Board({ state }: Readonly<{ state: BoardState }>) {
  const { rollout } = state
  const seconds = useSeconds()
  const model = boardModel(state, seconds.getTime())
  const report = useQuery(reportQuery(rollout.id))
  const changes = `${rollout.status} ${rollout.bakeUntil} ${rollout.finishedAt} ${model.failures.length} ${model.rollback?.ended}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: the time line changes with the state
  useEffect(() => void queryClient.invalidateQueries({ queryKey: reportQuery(rollout.id).queryKey }), [changes])
  return (
    <>
      <PageHeader
        title={text.title(rollout.id)}
        answer={<Answer state={state} model={model} report={report.data} now={seconds} />}
        actions={<RolloutActions state={state} report={report.data} />}
      />
      {!state.connected && !isBoardOver(state) && (
        <p className="note" role="status">
          <Icon tone="waiting" /> {text.notLive}
        </p>
      )}
      <Phases state={state} model={model} />
      <Attention state={state} model={model} />
      <InFlight model={model} />
      <Boxes state={state} />
      <div className="columns">
        <Story report={report} />
        <Section title={text.facts}>
          <KeyValues facts={factsOf(state, report.data)} />
        </Section>
      </div>
      {report.data && report.data.steps.length > 0 && <Steps report={report.data} />}
    </>
  )
}

type AnswerProps = Readonly<{ state: BoardState; model: BoardModel; report: RolloutReport | undefined; now: Date }>

/** `▲ paused in pro · 17 min active, 4 min waiting · 14 of 24 boxes updated, 1 failed · manifest 3` */
function Answer({ state: { rollout }, model, report, now }: AnswerProps) {
  const waitingMs = report ? pausedMs(report, now) : undefined
  return (
    <span className="answer">
      <Status
        tone={rolloutTone(rollout)}
      >{`${rolloutState({ ...rollout, counts: { ...rollout.counts, leftOut: 0 } })}${pausedPhase(rollout)}`}</Status>
      <span>{updatedText(model)}</span>
      {model.rollback && <span>{text.rollbackOf(model.rollback.rolledBack, model.rollback.total)}</span>}
      {model.elapsedMs !== undefined && waitingMs !== undefined && (
        <span>{text.time(Math.max(0, model.elapsedMs - waitingMs), waitingMs)}</span>
      )}
      {model.etaMs !== undefined && <span>{text.left(model.etaMs)}</span>}
      <span>{text.manifest(model.manifestRevision)}</span>
    </span>
  )
}

/** Pauses until now: the report is older than the present second. */
const pausedMs = ({ pauses, rollout }: RolloutReport, now: Date): number =>
  pauses.reduce((sum, { at, until, durationMs }) => {
    const end = until ?? rollout.finishedAt
    return sum + (end ? durationMs : Math.max(durationMs, now.getTime() - Date.parse(at)))
  }, 0)

function Phases({ state, model }: Readonly<{ state: BoardState; model: BoardModel }>) {
  const share = Math.floor(model.progress * 100)
  return (
    <section className="section" aria-label={text.phases}>
      <ol className="phases">
        {model.phases.map(({ phase, state: phaseState, succeeded, total }) => (
          <li
            key={phase}
            className={phaseState === 'running' || phaseState === 'paused' || phaseState === 'failed' ? 'current' : undefined}
          >
            <Status tone={phaseTones[phaseState]} title={phaseState}>
              {phase} <span className="sr">{phaseState}</span>
            </Status>
            <span className={total === 0 ? 'dim' : undefined}>
              {total === 0 ? '–' : phaseState === 'done' ? total : `${succeeded}/${total}`}
            </span>
          </li>
        ))}
        <li className="change">{changeOf(state)}</li>
      </ol>
      <div className="progress" role="progressbar" aria-label={text.progress} aria-valuemin={0} aria-valuemax={100} aria-valuenow={share}>
        <span
          className={`fill tone-${phaseOf(state.rollout) ? 'working' : 'ok'}`}
          style={{ width: `${(model.progress - model.failedShare) * 100}%` }}
        />
        <span className="fill tone-failed" style={{ width: `${model.failedShare * 100}%` }} />
      </div>
      {(model.queued || model.waiting) && (
        <p className="note">
          <Icon tone="waiting" />
          {model.queued && <span>{`waiting ${model.queued}`}</span>}
          {model.waiting && (
            <span>
              {text.windows(model.waiting.boxes)} <Ago at={model.waiting.until} />
            </span>
          )}
        </p>
      )}
    </section>
  )
}

/** The commonest change of versions: `synapse 1.157.1 → 1.163.2`. */
function changeOf({ plan }: BoardState): string {
  const moves = new Map<string, number>()
  for (const { from, to, does } of plan.boxes) {
    const move = does === 'update' ? versionMoves(from, to) : ''
    if (move) moves.set(move, (moves.get(move) ?? 0) + 1)
  }
  const [first, ...others] = [...moves].toSorted(([, a], [, b]) => b - a)
  return first ? `${first[0]}${others.length > 0 ? ` (and ${plural(others.length, 'other')})` : ''}` : ''
}

/** Why it stopped, what failed, and the commands that lead on. */
function Attention({ state, model }: Readonly<{ state: BoardState; model: BoardModel }>) {
  const { rollout } = state
  const isCalm = model.failures.length === 0 && !model.reason && model.next.length === 0
  if (isCalm) return null
  return (
    <Section title={model.failures.length > 0 ? text.failures : text.next}>
      {model.reason && <p className="reason">{stopText(rollout.status, model.reason)}</p>}
      {model.failures.length > 0 && (
        <ul className="failures">
          {model.failures.map((failure) => {
            const action = boxOf(state.actions, failure.slug)
            return action ? <FailureLine key={failure.slug} id={rollout.id} action={action} /> : null
          })}
        </ul>
      )}
      {model.next.length > 0 && (
        <dl className="next">
          {model.next.map(({ label, command }) => (
            <div key={command}>
              <dt>{label}</dt>
              <dd>
                <CliLine>{command}</CliLine>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  )
}

function FailureLine({ id, action }: Readonly<{ id: string; action: RolloutAction }>) {
  const { tenantSlug, phase, attempt, durationMs, fencedMs, snapshotId, waived } = action
  const error = errorOf(action)
  return (
    <li>
      <p className="failure-head">
        <Status tone={waived ? 'off' : 'failed'}>{outcomeWord(action)}</Status>
        <Link to={`/rollouts/${id}/boxes/${tenantSlug}`}>
          <b>{tenantSlug}</b>
        </Link>
        <span className="dim">{`${phase} · ${text.attempt(attempt)}${waived ? ` · ${text.skipped}` : ''}`}</span>
      </p>
      <p>
        {error ? error.message : text.noReason} {error && <code className="dim">{error.code}</code>}
      </p>
      <p className="failure-facts dim">
        <span>{outcomeAfterFailure(action)}</span>
        {durationMs !== null && (
          <span>
            {words.page.columns.duration.toLowerCase()} <Duration ms={durationMs} />
          </span>
        )}
        {fencedMs !== null && <span>{text.downtime(fencedMs)}</span>}
        {snapshotId && (
          <span>
            {text.snapshot} <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id>
          </span>
        )}
        <Link to={`/rollouts/${id}/boxes/${tenantSlug}`}>{text.evidence}</Link>
      </p>
    </li>
  )
}

function InFlight({ model }: Readonly<{ model: BoardModel }>) {
  if (model.running.length === 0) return null
  return (
    <Section title={text.inFlight} aside={words.boxes(model.running.length)}>
      <ul className="flights">
        {model.running.map(({ slug, phase, step, detail, elapsedMs, expectedMs }) => (
          <li key={slug}>
            <Link to={`/rollouts/${model.id}/boxes/${slug}`}>{slug}</Link>
            <Status tone={step === 'rolling back' ? 'waiting' : 'working'}>{step}</Status>
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
  { key: 'box', title: text.columns.box, width: 'minmax(160px, 1fr)', value: ({ tenantSlug }) => tenantSlug },
  { key: 'phase', title: text.columns.phase, width: '88px', value: ({ phase }) => phase },
  {
    key: 'status',
    title: text.columns.status,
    width: '136px',
    value: outcomeWord,
    cell: (action) => <Status tone={outcomeTone(action)}>{outcomeWord(action)}</Status>,
  },
  { key: 'versions', title: text.columns.versions, width: '200px', value: ({ from, to }) => versionMoves(from, to) },
  {
    key: 'duration',
    title: text.columns.duration,
    width: '88px',
    align: 'right',
    value: ({ durationMs }) => durationMs,
    cell: ({ durationMs }) => <Duration ms={durationMs} />,
  },
  {
    key: 'downtime',
    title: text.columns.downtime,
    width: '88px',
    align: 'right',
    value: ({ fencedMs }) => fencedMs,
    cell: ({ fencedMs }) => <Duration ms={fencedMs} />,
  },
  {
    key: 'snapshot',
    title: text.columns.snapshot,
    width: '96px',
    value: ({ snapshotId }) => snapshotId,
    cell: ({ snapshotId }) => (snapshotId ? <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id> : <span className="dim">–</span>),
  },
  { key: 'why', title: text.columns.why, width: 'minmax(220px, 2fr)', sortable: false, value: whyOfBox },
]

/** Why it waits, why it was skipped, or its error. */
function whyOfBox(action: RolloutAction): string {
  const error = errorOf(action)
  return waitOf(action) ?? (error ? `${error.message} [${error.code}]` : (skipReason(action) ?? ''))
}

function Boxes({ state }: Readonly<{ state: BoardState }>) {
  const [{ q = '', status = '', phase = '' }] = useSearchState()
  const { rollout } = state
  const all = useMemo(() => allBoxes(state.actions).toSorted(byPhase(rollout)), [state.actions, rollout])
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
}

const storyTone: Readonly<Record<string, TimelineEntry['tone']>> = {
  'rollout.paused': 'failed',
  'rollout.failed': 'failed',
  'rollout.rolled_back': 'failed',
  'rollout.done': 'ok',
  'rollout.baking': 'waiting',
}

function Story({ report }: Readonly<{ report: Parameters<typeof Loaded<RolloutReport>>[0]['query'] }>) {
  return (
    <Section title={text.story}>
      <Loaded query={report} rows={3}>
        {(story) => <Timeline label={text.story} entries={storyOf(story)} />}
      </Loaded>
    </Section>
  )
}

/** Newest first, the same sentences as `tenantry rollouts show`. */
const storyOf = (report: RolloutReport): readonly TimelineEntry[] =>
  report.timeline
    .flatMap((entry, index) =>
      timelineText(entry, report).map((line, part) => ({
        key: `${index} ${part}`,
        at: entry.at,
        tone: storyTone[entry.action] ?? ('working' as const),
        text: line,
      })),
    )
    .toReversed()

function Steps({ report }: Readonly<{ report: RolloutReport }>) {
  const maxMs = Math.max(...report.steps.map(({ worstMs }) => worstMs), 1)
  return (
    <Section title={text.steps}>
      <ul className="bars">
        {report.steps.map(({ step, medianMs, worstMs, worstSlug }) => (
          <li key={step}>
            <span>{stepWord(step) || step}</span>
            <span className="meter" aria-hidden="true">
              <span style={{ width: `${(medianMs / maxMs) * 100}%` }} />
            </span>
            <span className="dim">{text.medianMax(medianMs, worstMs, worstSlug)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function factsOf({ rollout }: BoardState, report: RolloutReport | undefined): readonly Fact[] {
  const { createdAt, createdBy, holdAfter, parallel, bakeMs, failureThreshold } = rollout
  const facts: Readonly<Record<string, ReactNode>> = {
    Emergency: rollout.cveId,
    Comment: rollout.reason,
    'Decided by': rollout.triggeredBy,
    Created: (
      <>
        <Ago at={createdAt} /> by {createdBy}
      </>
    ),
    Started: rollout.startedAt && <Ago at={rollout.startedAt} />,
    Finished: rollout.finishedAt && <Ago at={rollout.finishedAt} />,
    Downtime:
      report?.fence &&
      text.downtimeFact(report.fence.medianMs, report.fence.worstMs, report.fence.worstSlug, report.fence.sumMs, report.fence.boxes),
    'Pause after': holdAfter,
    Parallel: parallel && `${words.boxes(parallel)} at a time`,
    Bake: bakeMs && <Duration ms={bakeMs} />,
    Threshold: failureThreshold > 1 && `a phase stops after ${failureThreshold} failed boxes`,
    Windows: rollout.ignoreWindows && 'ignored',
    Maintenance: fenceModeText(rollout.fenceMode),
  }
  return Object.entries(facts)
}
