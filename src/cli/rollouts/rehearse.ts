import { duration, plural } from '../../core/kit/index.ts'
import { type Rehearsal, type RehearsedBox, type RequestedFence, type RequestedSnapshot, refusalsOf } from '../../core/rollouts/index.ts'
import { type Column, clean, command, count, many, type Style, sections, share, table } from '../kit/index.ts'
import { allowLongFence, gatesView, ignoreWindows, pace } from './plan.ts'

export const rehearse = command('rehearse', 'Simulate a rollout on a copy of the fleet (read-only)', {
  options: {
    target: many('--target <slugs>', 'only these boxes (comma-separated or repeated)'),
    allowLongFence,
    ignoreWindows,
    ...pace,
    failureThreshold: count('--failure-threshold <count>', 'failed boxes that stop a phase (default: 1)'),
    seed: count('--seed <number>', 'random seed (default: 1)', 0),
    runs: count('--runs <count>', 'number of runs, at most 9; shows the median'),
    fail: many('--fail <slugs>', 'boxes that fail their health checks'),
    failRate: share('--fail-rate <share>', 'fraction of boxes failing health checks'),
    pullFail: many('--pull-fail <slugs>', 'boxes whose image pull fails'),
    pullFailRate: share('--pull-fail-rate <share>', 'fraction of image pulls that fail'),
    slowPullRate: share('--slow-pull-rate <share>', 'fraction of image pulls delayed by 15 minutes'),
    offline: many('--offline <hosts>', 'hosts that are offline'),
    offlineRate: share('--offline-rate <share>', 'fraction of hosts that are offline'),
  },
  run: async ({ api, progress, signal }, options) => {
    const spinner = await progress('simulating the rollout')
    try {
      const rehearsal = await api.rollouts.rehearseRollout({ body: requestOf(options) }, { signal })
      spinner.stop()
      return rehearsal
    } catch (error) {
      spinner.stop()
      throw error
    }
  },
  view: rehearsalView,
  examples: ['rehearse', 'rehearse --fail anna-schule', 'rehearse --fail-rate 0.02 --offline host-3 --seed 7 --runs 5'],
})

type Shares = 'failureThreshold' | 'parallel' | 'bakeMs' | 'seed' | 'runs' | 'failRate' | 'pullFailRate' | 'slowPullRate' | 'offlineRate'
type Options = Readonly<Record<'target' | 'fail' | 'pullFail' | 'offline', readonly string[]>> &
  Readonly<Record<Shares, number | undefined>> &
  Readonly<{
    allowLongFence: boolean
    ignoreWindows: boolean
    fenceMode: RequestedFence | undefined
    snapshotMode: RequestedSnapshot | undefined
  }>

function requestOf({ target, fail, pullFail, offline, failRate, pullFailRate, slowPullRate, offlineRate, ...rest }: Options) {
  return {
    ...rest,
    ...(target.length > 0 ? { targetSlugs: [...target] } : {}),
    faults: {
      ...{ probeFailRate: failRate, pullFailRate, slowPullRate, offlineRate },
      ...{ failProbes: [...fail], failPulls: [...pullFail], offlineHosts: [...offline] },
    },
  }
}

/** The blockers first, then the phases, the longest downtimes and the totals. */
function rehearsalView(rehearsal: Rehearsal, style: Style): string {
  const phases = rehearsal.phases.filter(({ boxes }) => boxes > 0)
  const slowest = rehearsal.boxes
    .filter(({ fenceMs }) => fenceMs !== null)
    .toSorted((a, b) => (b.fenceP95Ms ?? 0) - (a.fenceP95Ms ?? 0) || (a.tenantSlug < b.tenantSlug ? -1 : 1))
    .slice(0, maxBoxes)
  return sections(
    pauses(rehearsal, style),
    stuck(rehearsal, style),
    refused(rehearsal, style),
    phases.length > 0 ? table(style, phaseColumns, phases) : 'Nothing to update.',
    slowest.length > 0
      ? `Longest downtime\n${table(style, rehearsal.runs > 1 ? [...fenceColumns, ...spread] : fenceColumns, slowest)}`
      : '',
    gatesView(rehearsal.gates, style, 'Gates (not asked in a rehearsal, which takes them as passed after their time)'),
    totals(rehearsal),
  )
}

const maxBoxes = 10
const maxLines = 10

const after = (ms: number | null) => (ms === null ? '' : ms === 0 ? 'immediately' : `after ${duration(ms)}`)

const phaseColumns: readonly Column<Rehearsal['phases'][number]>[] = [
  { title: 'PHASE', value: ({ phase }) => phase, priority: 1 },
  { title: 'BOXES', value: ({ boxes }) => String(boxes), priority: 1, align: 'right' },
  { title: 'START', value: ({ beginsMs }) => after(beginsMs), priority: 1 },
  { title: 'END', value: ({ endsMs }) => after(endsMs), priority: 1 },
]

const time = (ms: number | null) => (ms === null ? '' : duration(ms))

const fenceColumns: readonly Column<RehearsedBox>[] = [
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1 },
  { title: 'PHASE', value: ({ phase }) => phase, priority: 2 },
  { title: 'START', value: ({ beginsMs }) => after(beginsMs), priority: 2 },
  { title: 'RESULT', value: ({ status }) => status.replaceAll('_', ' '), priority: 2 },
  { title: 'DOWNTIME', value: ({ fenceMs }) => time(fenceMs), priority: 1, align: 'right' },
  { title: 'EXPECTED', value: ({ expectedFenceMs }) => time(expectedFenceMs), priority: 3, align: 'right' },
  { title: 'MAX DOWNTIME', value: ({ worstFenceMs }) => time(worstFenceMs), priority: 4, align: 'right' },
]

const spread: readonly Column<RehearsedBox>[] = [
  { title: 'MEDIAN', value: ({ fenceP50Ms }) => time(fenceP50Ms), priority: 2, align: 'right' },
  { title: 'P95', value: ({ fenceP95Ms }) => time(fenceP95Ms), priority: 2, align: 'right' },
]

/** Removes the commands that the daemon appends to a reason; a simulated rollout cannot be resumed. */
const why = (reason: string) => clean(reason.replace(/ Next: .*$/s, ''))

function pauses({ pauses: all }: Rehearsal, { paint }: Style): string {
  if (all.length === 0) return paint.green('Nothing would stop the rollout.')
  const lines = all.slice(0, maxLines).map(({ atMs, reason }) => `  ${after(atMs)}: ${why(reason)}`)
  return [paint.red(`The rollout would pause ${plural(all.length, 'time')}`), ...lines, ...more(all.length)].join('\n')
}

function stuck({ ended, boxes }: Rehearsal, { paint }: Style): string {
  if (ended === 'done') return ''
  const waiting = boxes.filter(({ waits }) => waits !== null)
  const lines = waiting.slice(0, maxLines).map(({ tenantSlug, waits }) => `  ${tenantSlug}: ${clean(waits ?? '')}`)
  return [paint.red('The rollout would never finish: boxes wait for holds'), ...lines, ...more(waiting.length)].join('\n')
}

function refused({ findings }: Rehearsal, { paint }: Style): string {
  const refusals = refusalsOf(findings)
  if (refusals.length === 0) return ''
  const lines = refusals.slice(0, maxLines).map(({ tenantSlug, message, code }) => `  ${tenantSlug}: ${clean(message)} [${code}]`)
  return [paint.yellow('Blocked by the plan and skipped here'), ...lines, ...more(refusals.length)].join('\n')
}

const more = (count: number): string[] => (count > maxLines ? [`  … and ${count - maxLines} more; --json shows all`] : [])

function totals({ updates, skipped, refused: out, seed, runs, makespanMs, worstMs, pauses: all }: Rehearsal): string {
  const parts = [
    `${plural(updates, 'box', 'boxes')} to update`,
    skipped > 0 && `${skipped} already up to date`,
    out > 0 && `${out} blocked`,
    runs > 1 ? `${runs} runs from seed ${seed}` : `seed ${seed}`,
  ]
  const whole =
    updates > 0
      ? ` Expected duration: ${duration(makespanMs)}${all.length > 0 ? ' (pauses resumed immediately)' : ''}; max: ${duration(worstMs)}.`
      : ''
  return `${parts.filter(Boolean).join(', ')}.${whole}`
}
