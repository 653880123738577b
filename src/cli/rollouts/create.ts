import { isProblem, plural, problem } from '../../core/kit/index.ts'
import type { PlannedImage, RolloutDetail, RolloutPlan } from '../../core/rollouts/index.ts'
import { type Context, clean, command, count, flag, many, oneOf, text } from '../kit/index.ts'
import { followIfRequested, followOptions, resultExit, resultView } from './follow.ts'
import { allowLongFence, ignoreWindows, planSummary } from './plan.ts'

import { fenceModes, phases } from './words.ts'

export const create = command(
  'create',
  'Create a rollout to the manifest, and start it with --start',
  {
    target: many('--target <slugs>', 'only these boxes (comma-separated or repeated)'),
    reason: text('--reason <text>', 'reason for the audit log'),
    allowLongFence,
    ignoreWindows,
    skipRefused: flag('--skip-refused', 'skip boxes that the plan blocks'),
    failureThreshold: count('--failure-threshold <count>', 'failed boxes that stop a phase (default: 1)'),
    holdAfter: oneOf('--hold-after <phase>', 'pause after this phase', phases),
    fenceMode: oneOf(
      '--fence-mode <mode>',
      'when maintenance of a box ends (default: until-stable; the others do not roll back a box that fails later)',
      fenceModes,
    ),
    idempotencyKey: text('--idempotency-key <key>', 'repeat calls with this key return the same rollout'),
    start: flag('--start', 'start the rollout'),
    ...followOptions,
  },
  async (context, { target, idempotencyKey, start, watch, wait, ...body }) => {
    const { rollouts } = context.api
    if ((watch || wait) && !start) throw problem('USAGE', '--watch and --wait require --start')
    if (watch && wait) throw problem('USAGE', 'pass either --watch or --wait')
    const targets = target.length > 0 ? { targetSlugs: [...target] } : {}
    const planInput = { ...targets, allowLongFence: body.allowLongFence, ignoreWindows: body.ignoreWindows }
    const isRepeated = start && (await isRepeatedCall(context, idempotencyKey))
    const seen = start && !isRepeated ? await preview(context, planInput, body) : undefined
    const headers = idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}
    const queued = await rollouts.createRollout({ body: { ...body, ...targets } }, headers)
    // A repeated call finds the first rollout, which may already have started.
    if (!start || queued.status !== 'queued') return followIfRequested(context, queued, { watch, wait })
    if (isRepeated) showPlan(context, queued.plan)
    if (seen) assertTagsUnmoved(seen, queued)
    const started = await rollouts.startRollout({ params: { id: queued.id } }).catch((error: unknown) => {
      context.notify(`rollout ${queued.id} stays queued. Start it later: tenantry rollouts start ${queued.id}`)
      throw error
    })
    return followIfRequested(context, started, { watch, wait })
  },
  resultView,
  {
    exit: resultExit,
    examples: [
      'create --start --watch',
      "create --start --wait --json --reason 'weekly' > rollout.json",
      'create --target anna-schule,kita-sued',
      'create --fence-mode until-first-ok --start --watch',
    ],
  },
)

type PlanInput = { targetSlugs?: string[]; allowLongFence: boolean; ignoreWindows: boolean }

/** Shows the plan to a person before the rollout starts. A blocked plan creates no rollout. */
async function preview(
  context: Context,
  input: PlanInput,
  { skipRefused }: Readonly<{ skipRefused: boolean }>,
): Promise<RolloutPlan | undefined> {
  if (skipRefused && !isInteractive(context)) return undefined
  const plan = await context.api.rollouts.planRollout({ body: input })
  if (!skipRefused) assertNoBlockers(plan)
  if (!isInteractive(context)) return undefined
  showPlan(context, plan)
  return plan
}

const isInteractive = ({ ask, json }: Context): boolean => ask.interactive && !json

function showPlan(context: Context, plan: RolloutPlan): void {
  if (isInteractive(context)) context.notify((style) => `${planSummary(plan, style)}\n`)
}

/** Throws CONFLICT when an image changed after the plan was shown. */
function assertTagsUnmoved(seen: RolloutPlan, { id, plan }: RolloutDetail): void {
  const moved = movedTags(seen, plan)
  if (moved.length > 0)
    throw problem(
      'CONFLICT',
      `${moved.join('; ')}. Rollout ${id} stays queued. Review it with \`tenantry rollouts show ${id} --plan\`, then \`tenantry rollouts start ${id}\` or \`abort\``,
    )
}

function assertNoBlockers({ boxes, refusals }: RolloutPlan): void {
  if (refusals === 0) return
  const violations = boxes.flatMap(({ tenantSlug, findings }) => {
    const first = findings.find(({ severity }) => severity === 'refuse')
    return first ? [`${tenantSlug}: ${first.message} [${first.code}]`] : []
  })
  throw problem('PLAN_REFUSED', `the plan blocks ${plural(refusals, 'box', 'boxes')}; no rollout was created`, { violations })
}

/**
 * True when a call with this key has already created a rollout, so that the current plan does not matter. An older daemon rejects the filter;
 * then the answer is false.
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
 * Images that changed between the shown plan and the created rollout: a tag was moved, or its registry did not answer. One line each.
 */
export function movedTags(seen: RolloutPlan, made: RolloutPlan): string[] {
  const before = new Map((seen.images ?? []).map(({ image, digest }) => [image, digest]))
  return (made.images ?? []).flatMap((now) => {
    const shown = before.get(now.image)
    return shown && now.digest !== shown ? [`${clean(now.image)} was ${clean(shown)} in the plan and ${isNow(now)}`] : []
  })
}

const isNow = ({ digest, why }: PlannedImage): string =>
  digest === null ? `is unresolved now${why === undefined ? '' : ` (${clean(why)})`}` : `is ${clean(digest)} now (tag moved)`
