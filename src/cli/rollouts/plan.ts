import { duration, plural } from '../../core/kit/index.ts'
import type { PlannedBox, PlannedImage, RolloutPlan } from '../../core/rollouts/index.ts'
import { versionMoves } from '../boxes/index.ts'
import { ago, type Column, clean, command, flag, many, padEnd, type Style, sections, table } from '../kit/index.ts'

export const allowLongFence = flag('--allow-long-fence', 'take boxes whose chat will be away for longer than fence.maxMinutes allows')

export const ignoreWindows = flag('--ignore-windows', 'update boxes outside their maintenance windows too')

export const plan = command(
  'plan',
  'Who would go when, from what to what, and what speaks against it; stores nothing',
  {
    target: many('--target <slugs>', 'only these boxes (commas, or several times)'),
    allowLongFence,
    ignoreWindows,
  },
  ({ api }, { target, ...body }) =>
    api.rollouts.planRollout({ body: { ...body, ...(target.length > 0 ? { targetSlugs: [...target] } : {}) } }),
  planView,
)

/** Refusals first, because they keep a rollout from starting; then who goes when, from what to what; then the totals. */
export function planView(plan: RolloutPlan, style: Style): string {
  const moving = inPhaseOrder(plan).filter(({ does }) => does === 'update')
  return sections(
    refusals(plan, style),
    moving.length > 0
      ? table(style, columns(style), moving)
      : plan.refusals > 0
        ? ''
        : 'No box has to move: all are at the versions of the manifest.',
    imagesView(plan, style),
    warnings(moving, style),
    totals(plan, moving),
    proposal(plan),
  )
}

/** The same without a row for each box: what is to be known before it begins. */
export function planSummary(plan: RolloutPlan, style: Style): string {
  const moving = inPhaseOrder(plan).filter(({ does }) => does === 'update')
  return sections(imagesView(plan, style), warnings(moving, style), totals(plan, moving), proposal(plan))
}

/** Which images they get, and whence each is known. What a tag is, is decided once for all of them. */
export function imagesView(plan: RolloutPlan, { paint }: Style): string {
  const images = plan.images ?? imagesBefore(plan)
  if (images.length === 0) return ''
  const left = Math.max(...images.map(({ image }) => image.length))
  const lines = images.map((one) => `  ${padEnd(clean(one.image), left)}  ${one.digest === null ? paint.yellow(unknown(one)) : known(one)}`)
  return [paint.bold('Images, the same for all boxes: what else comes to stand under a tag is not taken'), ...lines].join('\n')
}

const known = ({ digest, from, askedFrom }: PlannedImage): string =>
  `${clean(digest ?? '')} ${from === 'fleet' ? 'as it runs here' : `as its registry told ${clean(askedFrom ?? 'a host')}`}`

const unknown = ({ why }: PlannedImage): string =>
  `as the first pull finds it${why === undefined ? '' : `: nobody could say (${clean(why)})`}`

/** A plan of an earlier version named them with its boxes only, and asked no registry. */
function imagesBefore({ boxes }: RolloutPlan): PlannedImage[] {
  const moving = boxes.filter(({ does }) => does === 'update')
  const images = new Map(moving.flatMap((box) => Object.values(box.images).map(({ image, digest }) => [image, digest] as const)))
  return [...images]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([image, digest]) => ({ image, digest, from: digest === null ? 'first-pull' : 'fleet' }))
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
  { title: 'FENCE', value: ({ expectedFenceMs }) => duration(expectedFenceMs), priority: 2, align: 'right' },
  { title: 'AT WORST', value: ({ worstFenceMs }) => duration(worstFenceMs), priority: 5, align: 'right' },
  { title: 'TAKES', value: ({ expectedMs }) => duration(expectedMs), priority: 5, align: 'right' },
]

const opening = (opensAt: string, now: Date): string => (Date.parse(opensAt) <= now.getTime() ? 'open' : ago(opensAt, now))

function inPhaseOrder({ phases, boxes }: RolloutPlan): PlannedBox[] {
  const order = phases.map(({ phase }) => phase)
  return [...boxes].sort((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase))
}

export function refusals({ boxes }: Pick<RolloutPlan, 'boxes'>, { paint }: Style): string {
  const refused = boxes.filter(({ does }) => does === 'refuse')
  if (refused.length === 0) return ''
  return [paint.red(`Refused (${refused.length}): the rollout does not start with them`), ...findingLines(refused, 'refuse')].join('\n')
}

export function warnings(boxes: readonly PlannedBox[], { paint }: Style): string {
  const warned = boxes.filter(({ findings }) => findings.some(({ severity }) => severity === 'warn'))
  return warned.length === 0 ? '' : [paint.yellow(`Warnings (${warned.length})`), ...findingLines(warned, 'warn')].join('\n')
}

/** More of one kind say nothing new to whoever reads; `--json` has all. */
const mostOfAKind = 5

/** By kind, those first that concern most boxes; under each the boxes in the order of the plan. */
export function findingLines(boxes: readonly Pick<PlannedBox, 'tenantSlug' | 'findings'>[], wanted: 'refuse' | 'warn'): string[] {
  const found = boxes.flatMap(({ tenantSlug, findings }) =>
    findings.filter(({ severity }) => severity === wanted).map(({ code, message }) => ({ tenantSlug, code, message })),
  )
  const kinds = [...new Set(found.map(({ code }) => code))].map((code) => found.filter((one) => one.code === code))
  return kinds
    .toSorted((a, b) => b.length - a.length)
    .flatMap((kind) => [
      ...kind.slice(0, mostOfAKind).map(({ tenantSlug, code, message }) => `  ${tenantSlug}: ${clean(message)} [${code}]`),
      ...(kind.length > mostOfAKind ? [`  … and ${kind.length - mostOfAKind} more [${kind[0]?.code}]; --json shows all`] : []),
    ])
}

const proposal = ({ proposedFenceMode: mode }: RolloutPlan): string =>
  mode === undefined
    ? ''
    : `Boxes have gone back from these versions by their images, so \`--fence-mode ${mode}\` is worth a thought: chats open sooner, and what turns sick then stays until you decide.`

function totals(plan: RolloutPlan, moving: readonly PlannedBox[]): string {
  const skipped = plan.boxes.filter(({ does }) => does === 'skip').length
  const worst = Math.max(0, ...moving.map(({ worstFenceMs }) => worstFenceMs))
  const parts = [
    `${plural(plan.updates, 'box', 'boxes')} to move`,
    skipped > 0 && `${skipped} at target already`,
    plan.refusals > 0 && `${plan.refusals} refused`,
    `${plan.parallel} at a time`,
    `manifest revision ${plan.manifestRevision}`,
  ]
  const waits = moving.some(({ window }) => window) ? ', started now and with its maintenance windows,' : ''
  const time =
    plan.updates > 0
      ? ` About ${duration(plan.expectedMs)}${waits} if nothing fails; no chat is away for longer than ${duration(worst)}.`
      : ''
  return `${parts.filter(Boolean).join(', ')}.${time}`
}
