import { upgradeWays, versionMoves } from '../../core/boxes/index.ts'
import { bytesText, duration, plural } from '../../core/kit/index.ts'
import {
  type ActiveRollout,
  fenceEndText,
  fenceModes,
  findingsByKind,
  type Gate,
  imageSource,
  inPhaseOrder,
  limitsText,
  onNoAnswerText,
  type PlannedBox,
  type RolloutPlan,
  rolloutWord,
  snapshotModes,
} from '../../core/rollouts/index.ts'
import { ago, type Column, clean, command, count, flag, many, oneOf, padEnd, period, type Style, sections, table } from '../kit/index.ts'

export const allowLongFence = flag('--allow-long-fence', 'include boxes whose downtime exceeds fence.maxMinutes')

export const ignoreWindows = flag('--ignore-windows', 'update boxes outside their maintenance windows')

/** The pace of a rollout: boxes at once, the watching time after each phase, and when boxes open again. */
export const pace = {
  parallel: count('--parallel <count>', 'boxes at once (default: the setting of the daemon)'),
  bakeMs: period('--bake <duration>', 'watch updated boxes this long after each phase (30m, 2h, 1d)'),
  fenceMode: oneOf('--fence-mode <mode>', 'when maintenance of a box ends (default: auto, per box)', fenceModes),
  snapshotMode: oneOf('--snapshot-mode <mode>', 'when snapshots are stored, and from what copy (default: auto, per tier)', snapshotModes),
}

export const plan = command('plan', 'Preview order, version changes and blockers (read-only)', {
  options: {
    target: many('--target <slugs>', 'only these boxes (comma-separated or repeated)'),
    allowLongFence,
    ignoreWindows,
    ...pace,
    exitCode: flag('--exit-code', 'exit 2 if boxes differ from the manifest, 7 if the rollout cannot start'),
  },
  run: ({ api }, { target, exitCode, ...body }) =>
    api.rollouts.planRollout({ body: { ...body, ...(target.length > 0 ? { targetSlugs: [...target] } : {}) } }),
  view: planView,
  exit: (plan, { exitCode }) => (exitCode ? exitOfPlan(plan) : 0),
  examples: ['plan', 'plan --exit-code --json > plan.json'],
})

/** For CI: 0 all boxes are up to date, 2 some would be updated, 7 some are blocked. */
const exitOfPlan = ({ updates, refusals, activeRollouts = [] }: RolloutPlan): 0 | 2 | 7 =>
  refusals > 0 || activeRollouts.length > 0 ? 7 : updates > 0 ? 2 : 0

/** Blockers first, because they prevent the start; then boxes in order with their version changes; then the totals. */
export function planView(plan: RolloutPlan, style: Style): string {
  const moving = inPhaseOrder(plan).filter(({ does }) => does === 'update')
  return sections(
    refusals(plan, style),
    moving.length > 0
      ? table(style, columns(style), moving)
      : plan.refusals > 0
        ? ''
        : plan.boxes.some(({ findings }) => findings.length > 0)
          ? 'No box to update.'
          : 'All boxes are up to date with the manifest.',
    imagesView(plan, style),
    gatesView(plan.gates, style),
    activeView(plan, style),
    warnings(plan.boxes, style),
    totals(plan, moving),
    upgrading(moving, style),
    stayingClosed(moving),
    copiedStopped(moving),
  )
}

/** Unfinished rollouts with boxes of the plan, one line each. */
export const activeText = (active: readonly ActiveRollout[]): string[] =>
  active.map(({ rolloutId, status, slugs }) => {
    const some = `${slugs.slice(0, maxPerKind).map(clean).join(', ')}${slugs.length > maxPerKind ? ` and ${slugs.length - maxPerKind} more` : ''}`
    return `rollout ${clean(rolloutId)} (${rolloutWord(status)}) has not finished and includes ${some}`
  })

/** Queries of Prometheus before each next phase. */
export const gatesView = (gates: readonly Gate[] = [], { paint }: Style, title = 'Gates (asked after each phase)'): string =>
  gates.length === 0
    ? ''
    : [
        paint.bold(title),
        ...gates.flatMap((gate) => [`  ${gate.name}: ${limitsText(gate)}; ${onNoAnswerText(gate)}`, `    ${clean(gate.query)}`]),
      ].join('\n')

const activeView = ({ activeRollouts = [] }: RolloutPlan, { paint }: Style): string =>
  activeRollouts.length === 0
    ? ''
    : [
        paint.yellow('Active rollouts: wait for their end, or start with --queue'),
        ...activeText(activeRollouts).map((line) => `  ${line}`),
      ].join('\n')

/** The plan without a row per box. */
export function planSummary(plan: RolloutPlan, style: Style): string {
  const moving = inPhaseOrder(plan).filter(({ does }) => does === 'update')
  return sections(
    refusals(plan, style),
    imagesView(plan, style),
    gatesView(plan.gates, style),
    activeView(plan, style),
    warnings(plan.boxes, style),
    totals(plan, moving),
    upgrading(moving, style),
    stayingClosed(moving),
    copiedStopped(moving),
  )
}

/** Boxes that go to another major version of PostgreSQL, as their rehearsals measured it. */
function upgrading(moving: readonly PlannedBox[], { now, paint }: Style): string {
  const lines = moving.flatMap(({ tenantSlug, from, to, upgrade }) => {
    if (!upgrade) return []
    const { way, databaseBytes, roomBytes, rehearsedAt, downtimeMs } = upgrade
    const parts = [
      `${upgradeWays[way]}`,
      databaseBytes !== null && `${bytesText(databaseBytes)} (needs ${bytesText(roomBytes ?? 0)} free)`,
      downtimeMs !== null && rehearsedAt !== null && `${duration(downtimeMs)} when rehearsed ${ago(rehearsedAt, now)}`,
    ]
    return [`  ${clean(tenantSlug)}: PostgreSQL ${clean(from.postgres)} → ${clean(to.postgres)}, ${parts.filter(Boolean).join(', ')}`]
  })
  if (lines.length === 0) return ''
  const more = lines.length > maxUpgrades ? [`  … and ${lines.length - maxUpgrades} more; --json shows all`] : []
  return [paint.bold('Upgrades of PostgreSQL'), ...lines.slice(0, maxUpgrades), ...more].join('\n')
}

const maxUpgrades = 20

/** The images of a plan, each with its digest and where that came from. */
export function imagesView(plan: RolloutPlan, { paint }: Style): string {
  const { images } = plan
  if (images.length === 0) return ''
  const left = Math.max(...images.map(({ image }) => image.length))
  const lines = images.map(
    (one) =>
      `  ${padEnd(clean(one.image), left)}  ${one.digest === null ? paint.yellow(clean(imageSource(one))) : clean(`${one.digest} (${imageSource(one)})`)}`,
  )
  return [paint.bold('Images (pinned by digest; later changes of a tag are ignored)'), ...lines].join('\n')
}

const columns = ({ now }: Style): readonly Column<PlannedBox>[] => [
  { title: 'PHASE', value: ({ phase }) => phase, priority: 1 },
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1 },
  { title: 'HOST', value: ({ hostId, hostName }) => hostName ?? hostId, priority: 4, minWidth: 6 },
  { title: 'FROM → TO', value: ({ from, to }) => versionMoves(from, to), priority: 1, minWidth: 18 },
  {
    title: 'FINDINGS',
    value: ({ findings }) => findings.map(({ code }) => code).join(' '),
    priority: 4,
    minWidth: 10,
    paint: () => 'yellow',
  },
  { title: 'WINDOW', value: ({ window }) => window && opening(window.opensAt, now), priority: 2 },
  { title: 'OPENS', value: ({ fenceMode }) => fenceMode && fenceEndText(fenceMode), priority: 4 },
  { title: 'SNAPSHOT', value: ({ snapshotMode }) => snapshotMode, priority: 5 },
  { title: 'DOWNTIME', value: ({ expectedFenceMs }) => duration(expectedFenceMs), priority: 2, align: 'right' },
  { title: 'MAX DOWNTIME', value: ({ worstFenceMs }) => duration(worstFenceMs), priority: 5, align: 'right' },
  { title: 'DURATION', value: ({ expectedMs }) => duration(expectedMs), priority: 5, align: 'right' },
]

const opening = (opensAt: string, now: Date): string => (Date.parse(opensAt) <= now.getTime() ? 'open' : ago(opensAt, now))

export function refusals({ boxes }: Pick<RolloutPlan, 'boxes'>, { paint }: Style): string {
  const refused = boxes.filter(({ does }) => does === 'refuse')
  if (refused.length === 0) return ''
  return [paint.red(`Blocked (${refused.length}): rollout cannot start`), ...findingLines(refused, 'refuse')].join('\n')
}

export function warnings(boxes: readonly PlannedBox[], { paint }: Style): string {
  const warned = boxes.filter(({ findings }) => findings.some(({ severity }) => severity === 'warn'))
  return warned.length === 0 ? '' : [paint.yellow(`Warnings (${warned.length})`), ...findingLines(warned, 'warn')].join('\n')
}

/** Further findings of a kind are counted; `--json` lists all. */
const maxPerKind = 5

/** Findings by kind, the most frequent first, in plan order within a kind. */
export const findingLines = (boxes: readonly Pick<PlannedBox, 'tenantSlug' | 'findings'>[], severity: 'refuse' | 'warn'): string[] =>
  findingsByKind(boxes, severity).flatMap(({ code, lines }) => [
    ...lines.slice(0, maxPerKind).map(({ slug, message }) => `  ${slug}: ${clean(message)} [${code}]`),
    ...(lines.length > maxPerKind ? [`  … and ${lines.length - maxPerKind} more [${code}]; --json shows all`] : []),
  ])

/** Boxes that stay in maintenance until they are stable, because a rollback by images is not proven; by reason. */
const stayingClosed = (moving: readonly PlannedBox[]): string =>
  byReason(
    moving,
    ({ fenceReason }) => fenceReason,
    (slugs, reason) => `In maintenance until stable, about 2 min longer: ${slugs} (no rollback by images: ${reason}).`,
  )

/** Boxes that cannot be copied while they serve, although that was requested; by reason. */
const copiedStopped = (moving: readonly PlannedBox[]): string =>
  byReason(
    moving,
    ({ snapshotReason }) => snapshotReason,
    (slugs, reason) => `Database dumped during the downtime: ${slugs} (no hot copy: ${reason}).`,
  )

function byReason(
  moving: readonly PlannedBox[],
  reasonOf: (box: PlannedBox) => string | undefined,
  line: (slugs: string, reason: string) => string,
): string {
  const reasons = [...new Set(moving.flatMap((box) => reasonOf(box) ?? []))]
  return reasons
    .map((reason) => {
      const slugs = moving.filter((box) => reasonOf(box) === reason).map(({ tenantSlug }) => clean(tenantSlug))
      const some = `${slugs.slice(0, maxPerKind).join(', ')}${slugs.length > maxPerKind ? ` and ${slugs.length - maxPerKind} more` : ''}`
      return line(some, clean(reason))
    })
    .join('\n')
}

function totals(plan: RolloutPlan, moving: readonly PlannedBox[]): string {
  const skipped = plan.boxes.filter(({ does, findings }) => does === 'skip' && findings.length > 0).length
  const upToDate = plan.boxes.filter(({ does }) => does === 'skip').length - skipped
  const maxDowntimeMs = Math.max(0, ...moving.map(({ worstFenceMs }) => worstFenceMs))
  const parts = [
    `${plural(plan.updates, 'box', 'boxes')} to update`,
    upToDate > 0 && `${upToDate} already up to date`,
    skipped > 0 && `${skipped} skipped`,
    plan.refusals > 0 && `${plan.refusals} blocked`,
    `${plan.parallel} at a time`,
    plan.bakeMs !== undefined && `${duration(plan.bakeMs)} bake after each phase`,
    `manifest revision ${plan.manifestRevision}`,
  ]
  const waits = moving.some(({ window }) => window) ? ' if started now, maintenance windows included' : ''
  const time =
    plan.updates > 0 ? ` Expected duration: ${duration(plan.expectedMs)}${waits}; max downtime per box: ${duration(maxDowntimeMs)}.` : ''
  return `${parts.filter(Boolean).join(', ')}.${time}`
}
