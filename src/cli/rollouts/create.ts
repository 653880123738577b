import { plural, problem } from '../../core/kit/index.ts'
import {
  movedImages,
  phaseOrder,
  type RequestedFence,
  type RequestedSnapshot,
  type RolloutDetail,
  type RolloutPlan,
} from '../../core/rollouts/index.ts'
import { assertConfirmed, type Context, clean, command, count, flag, many, oneOf, text } from '../kit/index.ts'
import { followOptions, resultExit, resultView } from './follow.ts'
import { activeText, allowLongFence, ignoreWindows, pace, planSummary } from './plan.ts'
import { followIfRequested } from './watch-rollout.ts'

/** Also of `start`. */
export const queue = flag('--queue', 'wait for unfinished rollouts that include these boxes')

export const create = command('create', 'Create a rollout to the manifest, and start it with --start', {
  options: {
    target: many('--target <slugs>', 'only these boxes (comma-separated or repeated)'),
    reason: text('--reason <text>', 'reason for the audit log'),
    allowLongFence,
    ignoreWindows,
    skipRefused: flag('--skip-refused', 'skip boxes that the plan blocks'),
    failureThreshold: count('--failure-threshold <count>', 'failed boxes that stop a phase (default: 1)'),
    ...pace,
    holdAfter: oneOf('--hold-after <phase>', 'pause after this phase', phaseOrder.staged),
    idempotencyKey: text('--idempotency-key <key>', 'repeat calls with this key return the same rollout'),
    start: flag('--start', 'start it; a terminal shows the plan and asks for confirmation'),
    queue,
    ...followOptions,
  },
  run: async (context, { target, idempotencyKey, start, queue, watch, wait, allowSkipped, ...body }) => {
    const { rollouts } = context.api
    if ((watch || wait || queue) && !start) throw problem('USAGE', '--queue, --watch and --wait require --start')
    if (watch && wait) throw problem('USAGE', 'pass either --watch or --wait')
    const targets = target.length > 0 ? { targetSlugs: [...target] } : {}
    const planInput = {
      ...targets,
      allowLongFence: body.allowLongFence,
      ignoreWindows: body.ignoreWindows,
      parallel: body.parallel,
      bakeMs: body.bakeMs,
      fenceMode: body.fenceMode,
      snapshotMode: body.snapshotMode,
    }
    const isRepeated = start && (await isRepeatedCall(context, idempotencyKey))
    const seen = start && !isRepeated ? await preview(context, planInput, { ...body, queue }) : undefined
    const headers = idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}
    const queued = await rollouts.createRollout({ body: { ...body, ...targets } }, headers)
    // A repeated call finds the first rollout, which may already have started.
    if (!start || queued.status !== 'queued') return followIfRequested(context, queued, { watch, wait })
    if (isRepeated) await confirmPlan(context, queued.plan, `Start ${queued.id}?`)
    if (seen) assertTagsUnmoved(seen, queued)
    const started = await rollouts.startRollout({ params: { id: queued.id }, ...startBody({ queue }) }).catch((error: unknown) => {
      context.notify(`rollout ${queued.id} stays queued. Start it later: tenantry rollouts start ${queued.id}`)
      throw error
    })
    return followIfRequested(context, started, { watch, wait })
  },
  view: resultView,
  exit: resultExit,
  examples: [
    'create --start --watch',
    "create --start --wait --json --reason 'weekly' > rollout.json",
    'create --target anna-schule,kita-sued',
    'create --fence-mode until-stable --start --watch',
    'create --snapshot-mode before --start --watch',
    'create --parallel 1 --bake 30m --start --watch',
  ],
})

export const startBody = ({ skipRefused, queue }: { skipRefused?: boolean; queue: boolean }) => {
  const body = { ...(skipRefused === undefined ? {} : { skipRefused }), ...(queue ? { queue } : {}) }
  return Object.keys(body).length > 0 ? { body } : {}
}

type PlanInput = {
  targetSlugs?: string[]
  allowLongFence: boolean
  ignoreWindows: boolean
  parallel: number | undefined
  bakeMs: number | undefined
  fenceMode: RequestedFence | undefined
  snapshotMode: RequestedSnapshot | undefined
}

/** Shows the plan to a person and asks before anything is created. A blocked plan creates no rollout. */
async function preview(
  context: Context,
  input: PlanInput,
  { skipRefused, queue }: Readonly<{ skipRefused: boolean; queue: boolean }>,
): Promise<RolloutPlan | undefined> {
  if (skipRefused && !isInteractive(context)) return undefined
  const plan = await context.api.rollouts.planRollout({ body: input })
  if (!skipRefused) assertNoBlockers(plan)
  if (!queue) assertNoneActive(plan)
  if (!isInteractive(context)) return undefined
  await confirmPlan(context, plan, `Create and start this rollout of ${plural(plan.updates, 'box', 'boxes')}?`)
  return plan
}

const isInteractive = ({ ask, json }: Context): boolean => ask.interactive && !json

/** Scripts are not asked; on a terminal `--yes` confirms. */
async function confirmPlan(context: Context, plan: RolloutPlan, question: string): Promise<void> {
  if (!isInteractive(context)) return
  context.notify((style) => `${planSummary(plan, style)}\n`)
  await assertConfirmed(context.ask, question)
}

function assertNoneActive({ activeRollouts = [] }: RolloutPlan): void {
  const [first] = activeRollouts
  if (!first) return
  throw problem(
    'ROLLOUT_ACTIVE',
    `${activeText(activeRollouts).join('; ')}; no rollout was created. fix: wait for its end (\`tenantry rollouts watch ${clean(first.rolloutId)}\`), or start behind it with --queue`,
  )
}

/** Throws CONFLICT when an image changed after the plan was shown. */
function assertTagsUnmoved(seen: RolloutPlan, { id, plan }: RolloutDetail): void {
  const moved = movedImages(seen, plan)
  if (moved.length > 0)
    throw problem(
      'CONFLICT',
      `${moved.join('; ')}. Rollout ${id} stays queued. Review it with \`tenantry rollouts show ${id} --plan\`, then \`tenantry rollouts start ${id}\` or \`abort\``,
    )
}

function assertNoBlockers({ boxes, refusals }: RolloutPlan): void {
  if (refusals === 0) return
  const violations = boxes.flatMap(({ tenantSlug, findings }) =>
    findings.flatMap(({ severity, message, code }) => (severity === 'refuse' ? [`${tenantSlug}: ${message} [${code}]`] : [])),
  )
  throw problem('PLAN_REFUSED', `the plan blocks ${plural(refusals, 'box', 'boxes')}; no rollout was created`, { violations })
}

/** True when a call with this key has already created a rollout, so that the current plan does not matter. */
export async function isRepeatedCall({ api }: Pick<Context, 'api'>, idempotencyKey: string | undefined): Promise<boolean> {
  if (idempotencyKey === undefined) return false
  return (await api.rollouts.listRollouts({ query: { idempotencyKey, limit: 1 } })).rollouts.length > 0
}
