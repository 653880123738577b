import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { FleetSummary } from '../../core/boxes/index.ts'
import type { HostView } from '../../core/hosts/index.ts'
import type { JobCount } from '../../core/jobs/index.ts'
import { type EmergencyLack, emergencyLackText, preventsEmergency } from '../../core/rollouts/index.ts'
import type { ProofSummary } from '../../core/snapshots/index.ts'
import { driftTones, driftWords, fleetQuery } from '../boxes/index.ts'
import { Ago, type Fact, Icon, KeyValues, Link, Loaded, Section, Status, type Tone } from '../kit/index.ts'
import { recentRolloutsQuery } from '../rollouts/index.ts'
import { countBy, hostsQuery, jobsQuery, proofsQuery } from './queries.ts'
import { words } from './words.ts'

/** Boxes by drift, hosts by status, jobs and proofs: one line each. */
export function Fleet() {
  const fleet = useQuery(fleetQuery)
  const hosts = useQuery(hostsQuery)
  const jobs = useQuery(jobsQuery)
  const proofs = useQuery(proofsQuery)
  const lacks = useQuery(recentRolloutsQuery).data?.emergencyLacks ?? []
  return (
    <Section title={words.fleet}>
      <Loaded query={fleet} rows={4}>
        {(counts) => (
          <Loaded query={hosts} rows={2}>
            {({ hosts }) => (
              <KeyValues
                facts={[
                  ...fleetFacts(counts, hosts, jobs.data?.counts ?? []),
                  ['Snapshots', <Proofs key="proofs" proofs={proofs.data} />],
                  ['Emergencies', lacks.length > 0 && <Lacks key="lacks" lacks={lacks} />],
                ]}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </Section>
  )
}

function fleetFacts(
  { boxes, drift, health, fenced }: FleetSummary,
  hosts: readonly HostView[],
  jobs: readonly JobCount[],
): readonly Fact[] {
  const machines = countBy(
    hosts.filter(({ status }) => status !== 'revoked'),
    ({ status }) => status,
  )
  const count = (state: JobCount['state']) => jobs.filter((one) => one.state === state).reduce((sum, one) => sum + one.count, 0)
  return [
    ['Boxes', boxes === 0 ? words.noBoxes : <Link to="/boxes">{words.boxes(boxes)}</Link>],
    ['Chats', boxes > 0 && <Counts counts={health} names={words.health} tones={healthTones} link={(key) => `/boxes?state=${key}`} />],
    ['Drift', boxes > 0 && <Counts counts={drift} names={driftWords} tones={driftTones} link={(key) => `/boxes?drift=${key}`} />],
    ['In maintenance', fenced > 0 && <Status tone="waiting">{words.boxes(fenced)}</Status>],
    ['Hosts', hosts.length > 0 && <Counts counts={machines} names={words.host} tones={hostTones} link={() => '/hosts'} />],
    [
      'Jobs',
      <Link key="jobs" to="/jobs">
        {`${count('waiting') + count('away')} waiting · ${count('dead')} failed`}
      </Link>,
    ],
  ]
}

/** Missing configuration of emergencies; their page says how to fix it. */
const Lacks = ({ lacks }: Readonly<{ lacks: readonly EmergencyLack[] }>) => (
  <Link to="/rollouts/emergency" className={`status tone-${preventsEmergency(lacks) ? 'failed' : 'warning'}`}>
    <Icon tone={preventsEmergency(lacks) ? 'failed' : 'warning'} />
    <span className="wrap">{emergencyLackText(lacks)}</span>
  </Link>
)

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
      {unproven > 0 && (
        <Link to="/snapshots" className="status tone-warning">
          <Icon tone="warning" />
          {words.unproven(unproven)}
        </Link>
      )}
    </span>
  )
}

const healthTones = { running: 'ok', degraded: 'failed', down: 'failed', maintenance: 'waiting', unknown: 'off' } as const satisfies Record<
  string,
  Tone
>

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
