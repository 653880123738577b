import type { Actor } from '../../core/kit/index.ts'
import type { FenceMode, Phase, RolloutDetail } from '../../core/rollouts/index.ts'
import { isUniqueViolation } from '../db/index.ts'
import type { RolloutsDeps } from './deps.ts'
import { type PlanDeps, type Planned, planStaged } from './plan-rollout.ts'
import { newRollout, queueRollout } from './queue-rollout.ts'
import { madeBefore, type Repeat, repeatOf } from './repeated-call.ts'
import { showRollout } from './show-rollout.ts'

type Deps = PlanDeps & Pick<RolloutsDeps, 'rolloutBus'>

type Wanted = Readonly<{
  targetSlugs?: readonly string[] | undefined
  skipRefused: boolean
  allowLongFence: boolean
  failureThreshold: number
  holdAfter?: Phase | undefined
  fenceMode?: FenceMode
  ignoreWindows?: boolean
  reason?: string | undefined
}>

/** Plans and queues a rollout. With a key, a repeated call answers what the first one made; throws CONFLICT when it asks for something else. */
export async function createRollout(deps: Deps, actor: Actor, wanted: Wanted, key?: string): Promise<RolloutDetail> {
  const repeat = key === undefined ? null : repeatOf(actor, wanted, key)
  const made = repeat && (await madeBefore(deps.db, repeat))
  if (made) return showRollout(deps, made)
  const planned = await planStaged(deps, wanted)
  try {
    await store(deps, actor, wanted, planned, repeat)
  } catch (error) {
    // The same call at the same time was first.
    const other = repeat && isUniqueViolation(error) ? await madeBefore(deps.db, repeat) : undefined
    if (!other) throw error
    return showRollout(deps, other)
  }
  deps.rolloutBus.changed(planned.id)
  return showRollout(deps, planned.id)
}

async function store({ db, clock }: Deps, actor: Actor, wanted: Wanted, planned: Planned, repeat: Repeat | null): Promise<void> {
  const rollout = newRollout(clock, actor, planned, {
    reason: wanted.reason ?? null,
    cveId: null,
    triggeredBy: null,
    failureThreshold: wanted.failureThreshold,
    skipRefused: wanted.skipRefused,
    holdAfter: wanted.holdAfter ?? null,
    fenceMode: wanted.fenceMode ?? 'until-stable',
    ignoreWindows: wanted.ignoreWindows ?? false,
  })
  const data = { allowLongFence: wanted.allowLongFence }
  await db.transaction().execute((tx) => queueRollout(tx, clock, rollout, { plan: planned.plan, repeat, actor, data }))
}
