import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { stepWord } from '../../core/boxes/index.ts'
import { type BoardState, fenceModeText, type RolloutReport, snapshotModeText, timelineText } from '../../core/rollouts/index.ts'
import { Ago, Duration, type Fact, KeyValues, Loaded, Section, Timeline, type TimelineEntry } from '../kit/index.ts'
import { words } from './words.ts'

const { page: text } = words

const storyTone: Readonly<Record<string, TimelineEntry['tone']>> = {
  'rollout.paused': 'failed',
  'rollout.failed': 'failed',
  'rollout.rolled_back': 'failed',
  'rollout.done': 'ok',
  'rollout.baking': 'waiting',
}

/** The events of the rollout, in the order and the words of `tenantry rollouts show`. */
export function Story({ report }: Readonly<{ report: UseQueryResult<RolloutReport> }>) {
  return (
    <Section title={text.story}>
      <Loaded query={report} rows={3}>
        {(story) => <Timeline label={text.story} entries={storyOf(story)} />}
      </Loaded>
    </Section>
  )
}

const storyOf = (report: RolloutReport): readonly TimelineEntry[] =>
  report.timeline.flatMap((entry, index) =>
    timelineText(entry, report).map((line, part) => ({
      key: `${index} ${part}`,
      at: entry.at,
      tone: storyTone[entry.action] ?? ('working' as const),
      text: line,
    })),
  )

/** The duration of each step over all boxes. */
export function Steps({ report }: Readonly<{ report: RolloutReport }>) {
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

type FactsProps = Readonly<{ state: BoardState; report: RolloutReport | undefined }>

/** The record and the options of the rollout. */
export const Facts = ({ state, report }: FactsProps) => (
  <Section title={text.facts}>
    <KeyValues facts={factsOf(state, report)} />
  </Section>
)

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
    Downtime: report?.fence && text.downtimeFact(report.fence),
    'Pause after': holdAfter,
    Parallel: parallel && `${words.boxes(parallel)} at a time`,
    Bake: bakeMs && <Duration ms={bakeMs} />,
    Threshold: failureThreshold > 1 && `a phase stops after ${failureThreshold} failed boxes`,
    Windows: rollout.ignoreWindows && 'ignored',
    Maintenance: fenceModeText(rollout.fenceMode),
    Snapshots: snapshotModeText(rollout.snapshotMode ?? 'auto'),
  }
  return Object.entries(facts)
}
