import type { Actor } from '../../core/kit/index.ts'
import type { FenceMode, Phase, RolloutDetail } from '../../core/rollouts/index.ts'
import { isUniqueViolation } from '../db/index.ts'
import type { RolloutsDeps } from './deps.ts'
import { type PlanDeps, type Planned, planStaged } from './plan-rollout.ts'
import { createdBefore, newRollout, queueRollout, type Repeat, repeatOf } from './queue-rollout.ts'
import { showRollout } from './show-rollout.ts'

type Deps = PlanDeps & Pick<RolloutsDeps, 'rolloutBus'>

type Input = Readonly<{
  targetSlugs?: readonly string[] | undefined
  skipRefused: boolean
  allowLongFence: boolean
  failureThreshold: number
  holdAfter?: Phase | undefined
  fenceMode?: FenceMode
  ignoreWindows?: boolean
  reason?: string | undefined
}>

/** Plans and queues a rollout. With a key, a repeated call answers the rollout of the first; throws CONFLICT for another input. */
export async function createRollout(deps: Deps, actor: Actor, input: Input, key?: string): Promise<RolloutDetail> {
  const repeat = key === undefined ? null : repeatOf(actor, input, key)
  const created = repeat && (await createdBefore(deps.db, repeat))
  if (created) return showRollout(deps, created)
  const planned = await planStaged(deps, input)
  try {
    await store(deps, actor, input, planned, repeat)
  } catch (error) {
    // The same call at the same time came first.
    const other = repeat && isUniqueViolation(error) ? await createdBefore(deps.db, repeat) : undefined
    if (!other) throw error
    return showRollout(deps, other)
  }
  deps.rolloutBus.changed(planned.id)
  return showRollout(deps, planned.id)
}

async function store({ db, clock }: Deps, actor: Actor, input: Input, planned: Planned, repeat: Repeat | null): Promise<void> {
  const rollout = newRollout(clock, actor, planned, {
    reason: input.reason ?? null,
    cveId: null,
    triggeredBy: null,
    failureThreshold: input.failureThreshold,
    skipRefused: input.skipRefused,
    holdAfter: input.holdAfter ?? null,
    fenceMode: input.fenceMode ?? 'until-stable',
    ignoreWindows: input.ignoreWindows ?? false,
  })
  const data = { allowLongFence: input.allowLongFence }
  await db.transaction().execute((tx) => queueRollout({ tx, clock, rollout }, { plan: planned.plan, repeat, actor, data }))
}
