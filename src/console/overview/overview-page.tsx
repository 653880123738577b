import { useQuery } from '@tanstack/react-query'
import { type Alert, severestFirst } from '../../core/alerts/index.ts'
import type { FleetSummary } from '../../core/boxes/index.ts'
import { alertTone, openAlertsQuery } from '../alerts/index.ts'
import { fleetQuery } from '../boxes/index.ts'
import { Ago, CliLine, Link, Loaded, PageHeader, Section, Status } from '../kit/index.ts'
import { isOpen, recentRolloutsQuery } from '../rollouts/index.ts'
import { Fleet } from './fleet-facts.tsx'
import { LastDay } from './last-day.tsx'
import { ActiveRollouts, Decisions } from './rollout-lines.tsx'
import { words } from './words.ts'

export function Page() {
  const alerts = useQuery(openAlertsQuery)
  const rollouts = useQuery(recentRolloutsQuery)
  const fleet = useQuery(fleetQuery)
  const all = rollouts.data?.rollouts ?? []
  const paused = all.filter(({ status }) => status === 'paused')
  // The rollout itself shows why it is paused.
  const open = alerts.data?.alerts.filter(({ subject }) => !paused.some(({ id }) => id === subject)) ?? []
  const urgent = open.filter(({ severity }) => severity !== 'info').length
  return (
    <>
      <PageHeader
        title={words.title}
        answer={
          <span className="counts">
            {fleet.data && fleet.data.boxes > 0 && <Chats health={fleet.data.health} />}
            {alerts.data && rollouts.data && <Answer paused={paused.length} alerts={urgent} fleet={fleet.data} />}
          </span>
        }
      />
      {paused.length > 0 && <Decisions rollouts={paused} />}
      <Loaded query={alerts} rows={2}>
        {() => (open.length === 0 ? null : <Attention alerts={open} />)}
      </Loaded>
      <Section title={words.rollouts}>
        <Loaded query={rollouts} rows={2}>
          {() => <ActiveRollouts rollouts={all.filter((one) => isOpen(one) && one.status !== 'paused')} />}
        </Loaded>
      </Section>
      <div className="columns">
        <Fleet />
        <LastDay rollouts={all} />
      </div>
    </>
  )
}

const Chats = ({ health }: Readonly<{ health: FleetSummary['health'] }>) => {
  const { down, degraded, unknown, maintenance } = health
  const tone = down + degraded > 0 ? 'failed' : unknown > 0 ? 'warning' : maintenance > 0 ? 'waiting' : 'ok'
  return <Status tone={tone}>{words.chats(health)}</Status>
}

type AnswerProps = Readonly<{ paused: number; alerts: number; fleet: FleetSummary | undefined }>

/** An alert is raised after two minutes: until then the line of the chats alone says that something is wrong. */
const Answer = ({ paused, alerts, fleet }: AnswerProps) => {
  if (paused + alerts > 0) return <Status tone="failed">{paused > 0 ? words.toDecide(paused, alerts) : words.attention(alerts)}</Status>
  if (fleet?.boxes === 0) return <Status tone="off">{words.notSetUp}</Status>
  return fleet && fleet.health.down + fleet.health.degraded + fleet.health.unknown > 0 ? null : <Status tone="ok">{words.calm}</Status>
}

const Attention = ({ alerts }: Readonly<{ alerts: readonly Alert[] }>) => (
  <Section title={words.open}>
    <ul className="lines">
      {alerts
        .toSorted(severestFirst)
        .slice(0, maxLines)
        .map(({ id, severity, title, command, lastAt }) => (
          <li key={id} className="wraps">
            <Status tone={alertTone[severity]}>{words.severity[severity]}</Status>
            <span className="grow">
              <Link to={`/alerts/${id}`}>{title}</Link>{' '}
              <span className="dim">
                <Ago at={lastAt} />
              </span>
            </span>
            <CliLine>{command}</CliLine>
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
