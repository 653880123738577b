import { duration, plural } from '../../core/kit/index.ts'
import { type Rehearsal, type RehearsalRequest, type RehearsedBox, refusalsOf } from '../../core/rollouts/index.ts'
import { type Column, clean, command, count, many, oneOf, type Style, sections, share, table } from '../kit/index.ts'
import { allowLongFence, ignoreWindows } from './plan.ts'
import { fenceModes } from './words.ts'

export const rehearse = command(
  'rehearse',
  'Play a rollout through on a simulated copy of the fleet: how long it takes, how long each chat is away, what would stop it',
  {
    target: many('--target <slugs>', 'only these boxes (commas, or several times)'),
    allowLongFence,
    ignoreWindows,
    fenceMode: oneOf('--fence-mode <mode>', 'when chats open again, as for create', fenceModes),
    failureThreshold: count('--failure-threshold <count>', 'failed boxes after which a phase takes no new ones (default: 1)'),
    seed: count('--seed <number>', 'draw anew: the same seed gives the same result (default: 1)', 0),
    runs: count('--runs <count>', 'play it so many times, at most 9, each drawn anew, and show the middle'),
    fail: many('--fail <slugs>', 'boxes that do not prove healthy on the new version'),
    failRate: share('--fail-rate <share>', 'so many boxes do not prove healthy'),
    pullFail: many('--pull-fail <slugs>', 'boxes whose pull breaks off'),
    pullFailRate: share('--pull-fail-rate <share>', 'so many pulls break off'),
    slowPullRate: share('--slow-pull-rate <share>', 'so many pulls take a quarter of an hour longer'),
    offline: many('--offline <hosts>', 'hosts that are gone when they are needed'),
    offlineRate: share('--offline-rate <share>', 'so many hosts are gone'),
  },
  async ({ api, progress, signal }, options) => {
    const playing = await progress('playing the rollout through')
    try {
      const played = await api.rollouts.rehearseRollout({ body: wantedOf(options) }, { signal })
      playing.stop()
      return played
    } catch (error) {
      playing.stop()
      throw error
    }
  },
  rehearsalView,
  { examples: ['rehearse', 'rehearse --fail anna-schule', 'rehearse --fail-rate 0.02 --offline host-3 --seed 7 --runs 5'] },
)

type Shares = 'failureThreshold' | 'seed' | 'runs' | 'failRate' | 'pullFailRate' | 'slowPullRate' | 'offlineRate'
type Options = Readonly<Record<'target' | 'fail' | 'pullFail' | 'offline', readonly string[]>> &
  Readonly<Record<Shares, number | undefined>> &
  Readonly<{ allowLongFence: boolean; ignoreWindows: boolean; fenceMode: RehearsalRequest['fenceMode'] | undefined }>

function wantedOf({ target, fail, pullFail, offline, failRate, pullFailRate, slowPullRate, offlineRate, ...wanted }: Options) {
  return {
    ...wanted,
    ...(target.length > 0 ? { targetSlugs: [...target] } : {}),
    faults: {
      ...{ probeFailRate: failRate, pullFailRate, slowPullRate, offlineRate },
      ...{ failProbes: [...fail], failPulls: [...pullFail], offlineHosts: [...offline] },
    },
  }
}

/** What would stop it first, because that is why one rehearses; then when each phase goes, the longest outages, and the whole. */
function rehearsalView(played: Rehearsal, style: Style): string {
  const phases = played.phases.filter(({ boxes }) => boxes > 0)
  const longest = played.boxes
    .filter(({ fenceMs }) => fenceMs !== null)
    .toSorted((a, b) => (b.fenceP95Ms ?? 0) - (a.fenceP95Ms ?? 0) || (a.tenantSlug < b.tenantSlug ? -1 : 1))
    .slice(0, mostFences)
  return sections(
    pauses(played, style),
    stuck(played, style),
    refused(played, style),
    phases.length > 0 ? table(style, phaseColumns, phases) : 'No box would move.',
    longest.length > 0
      ? `Longest without chat\n${table(style, played.runs > 1 ? [...fenceColumns, ...spread] : fenceColumns, longest)}`
      : '',
    totals(played),
  )
}

const mostFences = 10
const mostLines = 10

const after = (ms: number | null) => (ms === null ? '' : ms === 0 ? 'at once' : `after ${duration(ms)}`)

const phaseColumns: readonly Column<Rehearsal['phases'][number]>[] = [
  { title: 'PHASE', value: ({ phase }) => phase, priority: 1 },
  { title: 'BOXES', value: ({ boxes }) => String(boxes), priority: 1, align: 'right' },
  { title: 'BEGINS', value: ({ beginsMs }) => after(beginsMs), priority: 1 },
  { title: 'ENDS', value: ({ endsMs }) => after(endsMs), priority: 1 },
]

const time = (ms: number | null) => (ms === null ? '' : duration(ms))

const fenceColumns: readonly Column<RehearsedBox>[] = [
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1 },
  { title: 'PHASE', value: ({ phase }) => phase, priority: 2 },
  { title: 'TURN', value: ({ beginsMs }) => after(beginsMs), priority: 2 },
  { title: 'ENDS', value: ({ status }) => status.replaceAll('_', ' '), priority: 2 },
  { title: 'FENCE', value: ({ fenceMs }) => time(fenceMs), priority: 1, align: 'right' },
  { title: 'AT WORST', value: ({ worstFenceMs }) => time(worstFenceMs), priority: 4, align: 'right' },
]

const spread: readonly Column<RehearsedBox>[] = [
  { title: 'MIDDLE', value: ({ fenceP50Ms }) => time(fenceP50Ms), priority: 2, align: 'right' },
  { title: '1 IN 20', value: ({ fenceP95Ms }) => time(fenceP95Ms), priority: 2, align: 'right' },
]

/** The second sentence of a reason says what may be done about a rollout that stands still; this one does not. */
const why = (reason: string) => clean(reason.replace(/ Next: .*$/s, ''))

function pauses({ pauses: all }: Rehearsal, { paint }: Style): string {
  if (all.length === 0) return paint.green('Nothing would stop it.')
  const lines = all.slice(0, mostLines).map(({ atMs, reason }) => `  ${after(atMs)}: ${why(reason)}`)
  return [paint.red(`It would pause ${plural(all.length, 'time')}`), ...lines, ...more(all.length)].join('\n')
}

function stuck({ ended, boxes }: Rehearsal, { paint }: Style): string {
  if (ended === 'done') return ''
  const waiting = boxes.filter(({ waits }) => waits !== null)
  const lines = waiting.slice(0, mostLines).map(({ tenantSlug, waits }) => `  ${tenantSlug}: ${clean(waits ?? '')}`)
  return [paint.red('It would never end by itself: boxes wait for others'), ...lines, ...more(waiting.length)].join('\n')
}

function refused({ findings }: Rehearsal, { paint }: Style): string {
  const refusals = refusalsOf(findings)
  if (refusals.length === 0) return ''
  const lines = refusals.slice(0, mostLines).map(({ tenantSlug, message, code }) => `  ${tenantSlug}: ${clean(message)} [${code}]`)
  return [paint.yellow('Refused by the plan, and left out here'), ...lines, ...more(refusals.length)].join('\n')
}

const more = (count: number): string[] => (count > mostLines ? [`  … and ${count - mostLines} more; --json shows all`] : [])

function totals({ updates, skipped, refused: out, seed, runs, makespanMs, worstMs, pauses: all }: Rehearsal): string {
  const parts = [
    `${plural(updates, 'box', 'boxes')} to move`,
    skipped > 0 && `${skipped} at target already`,
    out > 0 && `${out} refused`,
    runs > 1 ? `${runs} runs from seed ${seed}` : `seed ${seed}`,
  ]
  const whole =
    updates > 0
      ? ` About ${duration(makespanMs)}${all.length > 0 ? ' if every pause is resumed at once' : ''}; at worst ${duration(worstMs)}.`
      : ''
  return `${parts.filter(Boolean).join(', ')}.${whole}`
}
