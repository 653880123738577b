import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { stepWord } from '../../core/boxes/index.ts'
import {
  downtimeParts,
  errorOf,
  fenceEndText,
  isSnapshotStored,
  lastMoveText,
  outcomeWord,
  type RolloutAction,
  type RolloutAttempt,
  restoredText,
  skippedBoxes,
  snapshotText,
  statusWord,
  waitOf,
  withShortDigests,
} from '../../core/rollouts/index.ts'
import {
  Ago,
  At,
  CliLine,
  Duration,
  Elapsed,
  Empty,
  type Fact,
  Id,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  Section,
  Status,
  type Tone,
} from '../kit/index.ts'
import { planOf } from './plan-words.ts'
import { actionQuery } from './queries.ts'
import { attemptTone, outcomeTone } from './tones.ts'
import { words } from './words.ts'
import './rollouts.css'

const { action: text } = words

/** One box of a rollout, with the evidence of each attempt. */
export function Page() {
  const { id = '', slug = '' } = useParams({ strict: false }) as { id?: string; slug?: string }
  const query = useQuery(actionQuery(id, slug))
  const action = query.data?.action
  return (
    <>
      <PageHeader
        title={slug}
        answer={
          action && (
            <span className="answer">
              <Status tone={outcomeTone(action)}>{outcomeWord(action)}</Status>
              <span>{text.answer(action.phase)}</span>
              <span>{lastMoveText(action)}</span>
            </span>
          )
        }
        actions={
          <>
            {action && skippedBoxes([action]).length > 0 && (
              <Link to={planOf([slug])} className="button">
                {text.plan}
              </Link>
            )}
            <Link to={`/rollouts/${id}`} className="button">
              {words.page.title(id)}
            </Link>
          </>
        }
      />
      <Loaded query={query} rows={8}>
        {({ action, attempts }) => (
          <>
            <Section title={words.page.facts}>
              <KeyValues facts={factsOf(action)} />
              <CliLine>{`tenantry rollouts show ${id} --box ${slug}`}</CliLine>
            </Section>
            {attempts.length === 0 && <Empty title={text.noAttempts} tone="off" />}
            {attempts.toReversed().map((attempt) => (
              <Attempt key={`${attempt.kind} ${attempt.attempt}`} attempt={attempt} />
            ))}
          </>
        )}
      </Loaded>
    </>
  )
}

const check = (done: boolean | null) => (
  <Status tone={done === null ? 'off' : done ? 'ok' : 'failed'}>{text.checks[`${done}` as keyof typeof text.checks]}</Status>
)

function factsOf(action: RolloutAction): readonly Fact[] {
  const error = errorOf(action)
  return [
    [text.facts.error, error && <ErrorText error={error} />],
    [text.facts.waits, waitOf(action)],
    [
      text.facts.snapshot,
      <span className="answer">
        {check(isSnapshotStored(action))}
        {action.snapshotId && <Id>{action.snapshotId}</Id>}
        <Link to={`/snapshots?slug=${action.tenantSlug}`}>{text.snapshots}</Link>
      </span>,
    ],
    [text.facts.fence, action.fenceMode && fenceEndText(action.fenceMode)],
    [text.facts.expected, action.expectedFenceMs > 0 && <Duration ms={action.expectedFenceMs} />],
    [text.facts.update, check(action.updateOk)],
    [text.facts.health, check(action.healthOk)],
    [
      text.facts.findings,
      action.findings.length > 0 && (
        <ul>
          {action.findings.map(({ severity, code, message }) => (
            <li key={code}>
              <Status tone={severity === 'refuse' ? 'failed' : 'warning'}>{code}</Status> {message}
            </li>
          ))}
        </ul>
      ),
    ],
  ]
}

const ErrorText = ({ error }: Readonly<{ error: NonNullable<RolloutAction['error']> }>) => (
  <span className="tone-failed">
    {error.message} <code>{error.code}</code>
  </span>
)

function Attempt({ attempt }: Readonly<{ attempt: RolloutAttempt }>) {
  return (
    <Section
      title={`${text.attempt[attempt.kind]} ${attempt.attempt}`}
      aside={<Status tone={attemptTone(attempt.status)}>{statusWord(attempt.status)}</Status>}
    >
      <KeyValues facts={attemptFacts(attempt)} />
      <div className="columns">
        <div>
          <h3>{text.steps}</h3>
          <Steps attempt={attempt} />
        </div>
        {attempt.probes.length > 0 && (
          <div>
            <h3>{text.probes}</h3>
            <Probes attempt={attempt} />
          </div>
        )}
      </div>
      {attempt.hasLogs && <FailureLogs logs={attempt.logs} />}
    </Section>
  )
}

/** The last lines of the services that failed, from before the rollback replaced them. */
const FailureLogs = ({ logs }: Readonly<{ logs: RolloutAttempt['logs'] }>) => (
  <>
    <h3>{text.logs}</h3>
    {logs ? (
      <pre className="log" role="log" aria-label={text.logs}>
        {logs.map(({ at, service, text }) => `${at.slice(11, 19)} ${service}  ${text}`).join('\n')}
      </pre>
    ) : (
      <p className="dim">{text.logsForOperators}</p>
    )}
  </>
)

function attemptFacts(attempt: RolloutAttempt): readonly Fact[] {
  const { facts } = text
  const error = withShortDigests(attempt.error)
  return [
    [facts.error, error && <ErrorText error={error} />],
    [facts.started, <Ago at={attempt.startedAt} />],
    [
      facts.duration,
      attempt.durationMs === null ? <Elapsed since={attempt.startedAt} until={attempt.finishedAt} /> : <Duration ms={attempt.durationMs} />,
    ],
    [facts.downtime, attempt.fencedMs !== null && <Away attempt={attempt} />],
    [facts.database, attempt.restored && restoredText(attempt.restored)],
    [facts.snapshot, attempt.snapshotId && <Id>{attempt.snapshotId}</Id>],
    [facts.manifest, attempt.snapshotSha256 && <Id short={`sha256 ${attempt.snapshotSha256.slice(0, 12)}…`}>{attempt.snapshotSha256}</Id>],
    [facts.compose, attempt.composeBackup && <code>{attempt.composeBackup}</code>],
    [facts.images, <Images attempt={attempt} />],
  ]
}

/** The whole downtime, when it ended, and its parts. */
const Away = ({ attempt: { fencedMs, downtime } }: Readonly<{ attempt: RolloutAttempt }>) => (
  <span className="answer">
    <Duration ms={fencedMs} />
    {downtime && <span className="dim">{text.opened(fenceEndText(downtime.mode), downtime.reason)}</span>}
    {downtime && snapshotText(downtime) && <span className="dim">{snapshotText(downtime)}</span>}
    {downtime &&
      downtimeParts(downtime).map(([name, ms]) => (
        <span key={name} className="dim">
          {name} <Duration ms={ms} />
        </span>
      ))}
  </span>
)

function Images({ attempt: { digestsBefore, digestsAfter } }: Readonly<{ attempt: RolloutAttempt }>) {
  const changed = Object.keys(digestsAfter).filter((service) => digestsBefore[service] !== digestsAfter[service])
  if (changed.length === 0) return <span className="dim">–</span>
  return (
    <ul>
      {changed.map((service) => (
        <li key={service}>
          {service} <Digest of={digestsBefore[service]} /> → <Digest of={digestsAfter[service]} />
        </li>
      ))}
    </ul>
  )
}

const Digest = ({ of: digest }: Readonly<{ of: string | null | undefined }>) =>
  digest ? <Id short={digest.replace('sha256:', '').slice(0, 12)}>{digest}</Id> : <span className="dim">{text.unknownImage}</span>

function Steps({ attempt: { steps, durationMs } }: Readonly<{ attempt: RolloutAttempt }>) {
  const maxMs = Math.max(1, ...steps.map((step) => step.durationMs ?? 0))
  return (
    <ul className="bars">
      {steps.map(({ step, at, durationMs: tookMs }) => (
        <li key={`${step} ${at}`}>
          <span>{stepWord(step) || step}</span>
          <span className="meter" aria-hidden="true">
            <span style={{ width: `${((tookMs ?? 0) / maxMs) * 100}%` }} />
          </span>
          <span>{tookMs === null && durationMs === null ? <Status tone="working">{text.running}</Status> : <Duration ms={tookMs} />}</span>
        </li>
      ))}
    </ul>
  )
}

const probeTone = (verdict: string): Tone => (verdict === 'ok' ? 'ok' : 'failed')

const Probes = ({ attempt: { probes } }: Readonly<{ attempt: RolloutAttempt }>) => (
  <ol className="timeline">
    {probes.map(({ at, verdict, reason }) => (
      <li key={at}>
        <At at={at} />
        <Status tone={probeTone(verdict)}>{''}</Status>
        <span>
          {verdict} {reason && <span className="dim">{reason}</span>}
        </span>
      </li>
    ))}
  </ol>
)
