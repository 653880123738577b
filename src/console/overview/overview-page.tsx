import { useQuery } from '@tanstack/react-query'
import type { Alert } from '../../core/alerts/index.ts'
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
            {alerts.data && rollouts.data && <Answer paused={paused.length} alerts={urgent} boxes={fleet.data?.boxes} />}
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
        <LastDay alerts={alerts.data?.alerts ?? []} rollouts={all} />
      </div>
    </>
  )
}

const Chats = ({ health }: Readonly<{ health: FleetSummary['health'] }>) => {
  const tone = health.down + health.degraded > 0 ? 'failed' : health.unknown > 0 ? 'warning' : 'ok'
  return <Status tone={tone}>{words.chats(health)}</Status>
}

const Answer = ({ paused, alerts, boxes }: Readonly<{ paused: number; alerts: number; boxes: number | undefined }>) =>
  paused + alerts === 0 ? (
    <Status tone={boxes ? 'ok' : 'off'}>{boxes === 0 ? words.notSetUp : words.calm}</Status>
  ) : (
    <Status tone="failed">{paused > 0 ? words.toDecide(paused, alerts) : words.attention(alerts)}</Status>
  )

const Attention = ({ alerts }: Readonly<{ alerts: readonly Alert[] }>) => (
  <Section title={words.open}>
    <ul className="lines">
      {alerts.slice(0, maxLines).map(({ id, severity, title, command, lastAt }) => (
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
