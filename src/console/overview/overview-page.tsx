import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Alert } from '../../core/alerts/index.ts'
import type { FleetSummary } from '../../core/boxes/index.ts'
import type { HostView } from '../../core/hosts/index.ts'
import type { JobCount } from '../../core/jobs/index.ts'
import { plural } from '../../core/kit/index.ts'
import type { RolloutStatus, RolloutSummary } from '../../core/rollouts/index.ts'
import type { ProofSummary } from '../../core/snapshots/index.ts'
import { alertTone, openAlertsQuery } from '../alerts/index.ts'
import { driftTones, driftWords, fleetQuery } from '../boxes/index.ts'
import {
  Ago,
  CliLine,
  type Fact,
  Icon,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  Section,
  Status,
  type StripMark,
  TimeStrip,
  type Tone,
  timeOfDay,
  useNow,
} from '../kit/index.ts'
import { countBy, hostsQuery, isOpen, jobsQuery, proofsQuery, rolloutsQuery } from './queries.ts'
import { words } from './words.ts'

export function Page() {
  const alerts = useQuery(openAlertsQuery)
  const rollouts = useQuery(rolloutsQuery)
  const open = alerts.data?.alerts.filter(({ severity }) => severity !== 'info').length
  return (
    <>
      <PageHeader title={words.title} answer={open === undefined ? null : <Answer count={open} />} />
      <Loaded query={alerts} rows={2}>
        {({ alerts }) => (alerts.length === 0 ? null : <Attention alerts={alerts} />)}
      </Loaded>
      <Section title={words.rollouts}>
        <Loaded query={rollouts} rows={2}>
          {({ rollouts }) => <Rollouts rollouts={rollouts.filter(isOpen)} />}
        </Loaded>
      </Section>
      <div className="columns">
        <Fleet />
        <LastDay alerts={alerts.data?.alerts ?? []} rollouts={rollouts.data?.rollouts ?? []} />
      </div>
    </>
  )
}

const Answer = ({ count }: Readonly<{ count: number }>) =>
  count === 0 ? <Status tone="ok">{words.calm}</Status> : <Status tone="failed">{words.attention(count)}</Status>

const Attention = ({ alerts }: Readonly<{ alerts: readonly Alert[] }>) => (
  <Section title={words.open}>
    <ul className="lines">
      {alerts.slice(0, maxLines).map(({ id, severity, title, command, lastAt }) => (
        <li key={id}>
          <Status tone={alertTone[severity]}>{words.severity[severity]}</Status>
          <span className="grow">
            <Link to={`/alerts/${id}`}>{title}</Link>
          </span>
          <CliLine>{command}</CliLine>
          <span className="aside">
            <Ago at={lastAt} />
          </span>
        </li>
      ))}
      {alerts.length > maxLines && (
        <li>
          <Link to="/alerts">{`${alerts.length - maxLines} more`}</Link>
        </li>
      )}
    </ul>
  </Section>
)

const maxLines = 6

const tones: Partial<Record<RolloutStatus, Tone>> = {
  queued: 'waiting',
  paused: 'failed',
  done: 'ok',
  failed: 'failed',
  rolled_back: 'failed',
}
/** A running phase is `working`. */
export const rolloutTone = (status: RolloutStatus): Tone => tones[status] ?? 'working'

function Rollouts({ rollouts }: Readonly<{ rollouts: readonly RolloutSummary[] }>) {
  if (rollouts.length === 0) return <p className="dim">{words.noRollouts}</p>
  return (
    <ul className="lines">
      {rollouts.map((rollout) => (
        <li key={rollout.id}>
          <Status tone={rolloutTone(rollout.status)}>{rollout.status.replaceAll('_', ' ')}</Status>
          <span className="grow">
            <Link to={`/rollouts/${rollout.id}`}>{rollout.id}</Link> <span>{progressOf(rollout)}</span>
            {rollout.pauseReason && <div className="dim">{rollout.pauseReason}</div>}
          </span>
          <span className="aside">
            started <Ago at={rollout.startedAt} none="not yet" />
          </span>
        </li>
      ))}
    </ul>
  )
}

const progressOf = ({ counts }: RolloutSummary) => `${counts.succeeded} of ${words.boxes(counts.total - counts.skipped)} updated`

function Fleet() {
  const fleet = useQuery(fleetQuery)
  const hosts = useQuery(hostsQuery)
  const jobs = useQuery(jobsQuery)
  const proofs = useQuery(proofsQuery)
  return (
    <Section title={words.fleet}>
      <Loaded query={fleet} rows={4}>
        {(counts) => (
          <Loaded query={hosts} rows={2}>
            {({ hosts }) => (
              <KeyValues
                facts={[...fleetFacts(counts, hosts, jobs.data?.counts ?? []), ['Snapshots', <Proofs key="proofs" proofs={proofs.data} />]]}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </Section>
  )
}

function fleetFacts({ boxes, drift, fenced }: FleetSummary, hosts: readonly HostView[], jobs: readonly JobCount[]): readonly Fact[] {
  const machines = countBy(
    hosts.filter(({ status }) => status !== 'revoked'),
    ({ status }) => status,
  )
  const count = (state: JobCount['state']) => jobs.filter((one) => one.state === state).reduce((sum, one) => sum + one.count, 0)
  return [
    ['Boxes', boxes === 0 ? words.noBoxes : <Link to="/boxes">{words.boxes(boxes)}</Link>],
    ['Drift', boxes > 0 && <Counts counts={drift} names={driftWords} tones={driftTones} link={(key) => `/boxes?drift=${key}`} />],
    ['In maintenance', fenced > 0 && <Status tone="waiting">{words.boxes(fenced)}</Status>],
    ['Hosts', hosts.length > 0 && <Counts counts={machines} names={words.host} tones={hostTones} link={() => '/hosts'} />],
    ['Jobs', `${count('waiting') + count('away')} waiting · ${count('dead')} failed`],
  ]
}

/** Late proofs raise an alert; here is only the age of the oldest one. */
function Proofs({ proofs }: Readonly<{ proofs: ProofSummary | undefined }>) {
  if (!proofs || proofs.boxes === 0) return <span className="dim">–</span>
  const { oldest, unproven } = proofs
  return (
    <span className="counts">
      {oldest && (
        <span>
          {words.oldestProof} <Ago at={oldest.at} /> (<Link to={`/snapshots?slug=${oldest.slug}`}>{oldest.slug}</Link>)
        </span>
      )}
      {unproven > 0 && <Status tone="waiting">{words.unproven(unproven)}</Status>}
    </span>
  )
}

const hostTones = { online: 'ok', offline: 'failed', frozen: 'failed', revoked: 'off' } as const satisfies Record<string, Tone>

type CountsProps<Key extends string> = Readonly<{
  counts: Partial<Record<Key, number>>
  names: Readonly<Record<Key, string>>
  tones: Readonly<Record<Key, Tone>>
  link(key: Key): string
}>

const Counts = <Key extends string>({ counts, names, tones, link }: CountsProps<Key>): ReactNode => (
  <span className="counts">
    {(Object.keys(names) as Key[])
      .filter((key) => counts[key])
      .map((key) => (
        <Link key={key} to={link(key)} className={`status tone-${tones[key]}`}>
          <Icon tone={tones[key]} />
          {`${counts[key]} ${names[key]}`}
        </Link>
      ))}
  </span>
)

const dayMs = 24 * 60 * 60_000

function LastDay({ alerts, rollouts }: Readonly<{ alerts: readonly Alert[]; rollouts: readonly RolloutSummary[] }>) {
  const to = useNow().getTime()
  const from = to - dayMs
  const marks = marksOf(alerts, rollouts).filter(({ at }) => Date.parse(at) >= from)
  return (
    <Section title={words.lastDay} aside={marks.length === 0 ? words.quietDay : dayWords(marks)}>
      <TimeStrip from={from} to={to} marks={marks} label={`${words.lastDay}: ${marks.length === 0 ? words.quietDay : dayWords(marks)}`} />
      <div className="strip-labels">
        <span>{timeOfDay(from)}</span>
        <span>{timeOfDay(from + dayMs / 2)}</span>
        <span>now</span>
      </div>
    </Section>
  )
}

function marksOf(alerts: readonly Alert[], rollouts: readonly RolloutSummary[]): readonly (StripMark & Readonly<{ kind: string }>)[] {
  return [
    ...alerts.map(({ firstAt, title, severity }) => ({ at: firstAt, tone: alertTone[severity], label: title, kind: 'alert' })),
    ...rollouts.flatMap(({ id, startedAt, finishedAt, status }) => [
      ...(startedAt ? [{ at: startedAt, tone: 'working' as const, label: `${id} started`, kind: 'rollout' }] : []),
      ...(finishedAt ? [{ at: finishedAt, tone: rolloutTone(status), label: `${id} ${status}`, kind: 'end' }] : []),
    ]),
  ]
}

function dayWords(marks: readonly Readonly<{ kind: string }>[]): string {
  const { alert = 0, rollout = 0, end = 0 } = countBy(marks, ({ kind }) => kind as 'alert' | 'rollout' | 'end')
  return [`${plural(rollout, 'rollout')} started`, `${end} finished`, plural(alert, 'alert')].join(' · ')
}
