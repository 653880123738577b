import { duration, plural } from '../../core/kit/index.ts'
import { boxes } from './words.ts'

/** Every text of a rehearsal. */
export const rehearsalWords = {
  title: 'Rehearsal',
  intro: 'Simulates this rollout on a copy of the fleet in virtual time. It changes nothing.',
  fail: 'Boxes that fail',
  failRate: 'Share that fails, %',
  offline: 'Hosts offline',
  seed: 'Seed',
  runs: 'Runs',
  run: 'Rehearse',
  running: 'Simulating the rollout',
  calm: 'Nothing would stop the rollout.',
  pauses: (count: number) => `The rollout would pause ${plural(count, 'time')}.`,
  stuck: 'The rollout would never finish: boxes wait for holds.',
  after: (ms: number | null) => (ms === null ? '–' : ms === 0 ? 'immediately' : `after ${duration(ms)}`),
  totals: (makespanMs: number, worstMs: number, paused: boolean) =>
    `Expected duration ${duration(makespanMs)}${paused ? ' (pauses resumed immediately)' : ''}, max ${duration(worstMs)}.`,
  chart: 'Expected course',
  chartLabel: ({ updated, failed, endMs }: Readonly<{ updated: number; failed: number; endMs: number }>, total: number) =>
    `Expected course: ${updated} of ${boxes(total)} updated, ${failed} failed, in ${duration(endMs)}. The tables below say the same.`,
  updated: 'updated',
  inProgress: 'in progress',
  failed: 'failed',
  columns: { phase: 'Phase', boxes: 'Boxes', begins: 'Start', ends: 'End' },
  longest: 'Longest downtime',
  slowestColumns: { box: 'Box', phase: 'Phase', begins: 'Start', result: 'Result', downtime: 'Downtime', max: 'Max downtime' },
  skipped: 'Blocked by the plan and left out here',
} as const
