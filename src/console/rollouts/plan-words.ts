import type { PlannedBox, RolloutPlan } from '../../core/rollouts/index.ts'
import { emergencyWords } from './emergency-words.ts'
import type { PlanInput } from './queries.ts'
import { words } from './words.ts'

const { plan: text } = words

export const movingIn = ({ boxes }: Pick<RolloutPlan, 'boxes'>): readonly PlannedBox[] => boxes.filter(({ does }) => does === 'update')

export const maxOf = (boxes: readonly PlannedBox[], of: 'expectedFenceMs' | 'worstFenceMs'): number =>
  Math.max(0, ...boxes.map((box) => box[of]))

/** The answer of the plan in one line. */
export function planAnswer(plan: RolloutPlan): string {
  const skips = plan.boxes.filter(({ does }) => does === 'skip')
  const skipped = skips.filter(({ findings }) => findings.length > 0).length
  const moving = movingIn(plan)
  const count = text.totals({ ...plan, skipped, upToDate: skips.length - skipped })
  if (plan.boxes.length === 0) return text.noBoxes
  if (plan.updates === 0) return plan.refusals > 0 || skipped > 0 ? count : text.upToDate
  const eta = text.eta(
    plan.expectedMs,
    moving.some(({ window }) => window),
  )
  return `${count}. ${eta}; ${text.maxDowntime(maxOf(moving, 'worstFenceMs'))}.`
}

/** The page of the plan of these boxes alone. */
export const planOf = (slugs: readonly string[]): string => `/plan?only=${slugs.join(',')}`

const maxVersions = 4

/** `1.157.1 (12 boxes), 1.150.0 (2)`, the most frequent version first. */
export function runningNow(boxes: readonly PlannedBox[], component: keyof PlannedBox['from']): string {
  const counts = new Map<string, number>()
  for (const { from } of boxes) counts.set(from[component], (counts.get(from[component]) ?? 0) + 1)
  const sorted = [...counts].toSorted(([a, some], [b, others]) => others - some || (a < b ? -1 : 1))
  const shown = sorted.slice(0, maxVersions).map(([version, many], at) => `${version} (${many}${at === 0 ? ' boxes' : ''})`)
  if (shown.length === 0) return emergencyWords.notRunning
  return emergencyWords.runs(`${shown.join(', ')}${sorted.length > maxVersions ? ', …' : ''}`)
}

const minuteMs = 60_000

/** The options of `tenantry rollouts plan` and `create`. */
export const planOptions = ({
  targetSlugs = [],
  allowLongFence,
  ignoreWindows,
  parallel,
  bakeMs,
  fenceMode,
  snapshotMode,
}: PlanInput): string =>
  [
    targetSlugs.length > 0 && `--target ${targetSlugs.join(',')}`,
    allowLongFence && '--allow-long-fence',
    ignoreWindows && '--ignore-windows',
    parallel && `--parallel ${parallel}`,
    bakeMs && `--bake ${Math.round(bakeMs / minuteMs)}m`,
    fenceMode && `--fence-mode ${fenceMode}`,
    snapshotMode && `--snapshot-mode ${snapshotMode}`,
  ]
    .filter(Boolean)
    .map((option) => ` ${option}`)
    .join('')
