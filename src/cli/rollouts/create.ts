import { isProblem, plural, problem } from '../../core/kit/index.ts'
import type { PlannedImage, RolloutDetail, RolloutPlan } from '../../core/rollouts/index.ts'
import { type Context, clean, command, count, flag, many, oneOf, text } from '../kit/index.ts'
import { followed, followedExit, followedView, followOptions } from './follow.ts'
import { allowLongFence, ignoreWindows, planSummary } from './plan.ts'

import { fenceModes, phases } from './words.ts'

export const create = command(
  'create',
  'Plan and queue a rollout to the manifest; with --start it begins at once',
  {
    target: many('--target <slugs>', 'only these boxes (commas, or several times)'),
    reason: text('--reason <text>', 'why; it stands in the audit log'),
    allowLongFence,
    ignoreWindows,
    skipRefused: flag('--skip-refused', 'leave out boxes that the plan refuses'),
    failureThreshold: count('--failure-threshold <count>', 'failed boxes after which a phase takes no new ones (default: 1)'),
    holdAfter: oneOf('--hold-after <phase>', 'pause when this phase is through', phases),
    fenceMode: oneOf(
      '--fence-mode <mode>',
      'when chats open again: once a box proved stable (default), after its first good probe, or they are never closed; in the last two a box that turns sick when people are in stays on the new version until you decide',
      fenceModes,
    ),
    idempotencyKey: text('--idempotency-key <key>', 'a repeated call with the same key answers the same rollout'),
    start: flag('--start', 'start it'),
    ...followOptions,
  },
  async (context, { target, idempotencyKey, start, watch, wait, ...body }) => {
    const { rollouts } = context.api
    if ((watch || wait) && !start) throw problem('USAGE', '--watch and --wait need --start: a queued rollout does nothing')
    if (watch && wait) throw problem('USAGE', 'give --watch or --wait, not both')
    const targets = target.length > 0 ? { targetSlugs: [...target] } : {}
    const asked = { ...targets, allowLongFence: body.allowLongFence, ignoreWindows: body.ignoreWindows }
    const isRepeated = start && (await isRepeatedCall(context, idempotencyKey))
    const seen = start && !isRepeated ? await lookBefore(context, asked, body) : undefined
    const headers = idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}
    const queued = await rollouts.createRollout({ body: { ...body, ...targets } }, headers)
    // A repeated call finds what the first one made, and maybe started before its answer was lost.
    if (!start || queued.status !== 'queued') return followed(context, queued, { watch, wait })
    if (isRepeated) showPlan(context, queued.plan)
    if (seen) assertTagsUnmoved(seen, queued)
    const started = await rollouts.startRollout({ params: { id: queued.id } }).catch((error: unknown) => {
      context.notify(`rollout ${queued.id} stays queued; later: tenantry rollouts start ${queued.id}`)
      throw error
    })
    return followed(context, started, { watch, wait })
  },
  followedView,
  {
    exit: followedExit,
    examples: [
      'create --start --watch',
      "create --start --wait --json --reason 'weekly' > rollout.json",
      'create --target anna-schule,kita-sued',
      'create --fence-mode until-first-ok --start --watch',
    ],
  },
)

type Refusable = { targetSlugs?: string[]; allowLongFence: boolean; ignoreWindows: boolean }

/**
 * Who sits there sees what will be done before it begins. What cannot start is not created either: no queued rollout is left behind by a plan
 * that refuses.
 */
async function lookBefore(
  context: Context,
  wanted: Refusable,
  { skipRefused }: Readonly<{ skipRefused: boolean }>,
): Promise<RolloutPlan | undefined> {
  if (skipRefused && !isSeen(context)) return undefined
  const plan = await context.api.rollouts.planRollout({ body: wanted })
  if (!skipRefused) assertNoBlockers(plan)
  if (!isSeen(context)) return undefined
  showPlan(context, plan)
  return plan
}

const isSeen = ({ ask, json }: Context): boolean => ask.interactive && !json

function showPlan(context: Context, plan: RolloutPlan): void {
  if (isSeen(context)) context.notify((style) => `${planSummary(plan, style)}\n`)
}

/** What nobody has seen is not begun. */
function assertTagsUnmoved(seen: RolloutPlan, { id, plan }: RolloutDetail): void {
  const moved = movedTags(seen, plan)
  if (moved.length > 0)
    throw problem(
      'CONFLICT',
      `${moved.join('; ')}. The rollout ${id} stays queued as it was made: \`tenantry rollouts show ${id} --plan\`, then \`tenantry rollouts start ${id}\` or \`abort\``,
    )
}

function assertNoBlockers({ boxes, refusals }: RolloutPlan): void {
  if (refusals === 0) return
  const violations = boxes.flatMap(({ tenantSlug, findings }) => {
    const first = findings.find(({ severity }) => severity === 'refuse')
    return first ? [`${tenantSlug}: ${first.message} [${first.code}]`] : []
  })
  throw problem('PLAN_REFUSED', `the plan refuses ${plural(refusals, 'box', 'boxes')}; no rollout was created`, { violations })
}

/**
 * Whether a call with this key has made a rollout already: what the plan says by now does not concern that one any more. An older daemon refuses
 * the question, and is asked for a plan first, as ever.
 */
export async function isRepeatedCall({ api }: Pick<Context, 'api'>, idempotencyKey: string | undefined): Promise<boolean> {
  if (idempotencyKey === undefined) return false
  try {
    return (await api.rollouts.listRollouts({ query: { idempotencyKey, limit: 1 } })).rollouts.length > 0
  } catch (error) {
    if (isProblem(error, 'VALIDATION')) return false
    throw error
  }
}

/**
 * What a person saw in a plan and the rollout was then made without: a tag may be moved in between, or its registry be away. One line each.
 */
export function movedTags(seen: RolloutPlan, made: RolloutPlan): string[] {
  const before = new Map((seen.images ?? []).map(({ image, digest }) => [image, digest]))
  return (made.images ?? []).flatMap((now) => {
    const shown = before.get(now.image)
    return shown && now.digest !== shown ? [`${clean(now.image)} was ${clean(shown)} a moment ago, and ${isNow(now)}`] : []
  })
}

const isNow = ({ digest, why }: PlannedImage): string =>
  digest === null
    ? `nobody can say now what it is${why === undefined ? '' : ` (${clean(why)})`}`
    : `is ${clean(digest)} now: somebody moved the tag`
