import { useQuery } from '@tanstack/react-query'
import type { Alert } from '../../core/alerts/index.ts'
import { duration, elapsedMs, plural } from '../../core/kit/index.ts'
import { listedState, type RolloutSummary } from '../../core/rollouts/index.ts'
import { alertsQuery, alertTone } from '../alerts/index.ts'
import { Section, type StripMark, Timeline, TimeStrip, useNow } from '../kit/index.ts'
import { rolloutTone } from '../rollouts/index.ts'
import { countBy } from './queries.ts'
import { words } from './words.ts'

const dayMs = 24 * 60 * 60_000
const maxEvents = 6

/** The last 24 hours: a strip, and its newest events in words. */
export function LastDay({ rollouts }: Readonly<{ rollouts: readonly RolloutSummary[] }>) {
  // Closed ones too: what happened at night is often over in the morning.
  const alerts = useQuery(alertsQuery(undefined)).data?.alerts ?? []
  const to = useNow().getTime()
  const from = to - dayMs
  const marks = marksOf(alerts, rollouts)
    .filter(({ at }) => Date.parse(at) >= from)
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
  return (
    <Section title={words.lastDay} aside={marks.length === 0 ? words.quietDay : dayWords(marks)}>
      <TimeStrip from={from} to={to} marks={marks} label={`${words.lastDay}: ${marks.length === 0 ? words.quietDay : dayWords(marks)}`} />
      <div className="strip-labels">
        <span>24 h ago</span>
        <span>12 h ago</span>
        <span>now</span>
      </div>
      <Timeline
        label={words.lastDay}
        entries={marks.slice(0, maxEvents).map((mark) => ({ ...mark, key: `${mark.at} ${mark.kind}`, text: mark.label }))}
      />
    </Section>
  )
}

function marksOf(alerts: readonly Alert[], rollouts: readonly RolloutSummary[]): readonly (StripMark & Readonly<{ kind: string }>)[] {
  return [
    ...alerts.map((alert) => ({ at: alert.firstAt, tone: alertTone[alert.severity], label: alertWords(alert), kind: 'alert' })),
    ...rollouts.flatMap(({ id, startedAt, finishedAt, ...rollout }) => [
      ...(startedAt ? [{ at: startedAt, tone: 'working' as const, label: `rollout ${id} started`, kind: 'rollout' }] : []),
      ...(finishedAt ? [{ at: finishedAt, tone: rolloutTone(rollout), label: `rollout ${id} ${listedState(rollout)}`, kind: 'end' }] : []),
    ]),
  ]
}

const alertWords = ({ title, firstAt, closedAt }: Alert): string =>
  closedAt === null ? title : words.closedAfter(title, duration(elapsedMs(firstAt, closedAt)))

function dayWords(marks: readonly Readonly<{ kind: string }>[]): string {
  const { alert = 0, rollout = 0, end = 0 } = countBy(marks, ({ kind }) => kind as 'alert' | 'rollout' | 'end')
  return [`${plural(rollout, 'rollout')} started`, `${end} finished`, plural(alert, 'alert')].join(' · ')
}
