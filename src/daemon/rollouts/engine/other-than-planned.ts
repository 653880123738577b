import type { ActionError, RolloutPlan } from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { attemptsOf } from '../attempts.repo.ts'
import { planOf } from '../plans.repo.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/**
 * Whoever approved a plan saw which image the fleet runs under a tag. A first pull that finds another one there is refused; resumed by somebody
 * who was told so, the rollout takes it. The plan is long, and read only before a tag is pinned.
 */
export async function otherThanPlanned(
  tx: Tx,
  rollout: Pick<StoredRollout, 'id' | 'digests'>,
  action: StoredAction,
  pulled: Readonly<Record<string, string>>,
): Promise<ActionError | undefined> {
  const first = Object.values(action.images).filter((image) => rollout.digests[image] === undefined)
  if (first.length === 0) return undefined
  const plan = await planOf(tx, rollout.id)
  const moved = first
    .map((image) => ({ image, planned: digestIn(plan, image) }))
    .find(({ image, planned }) => planned !== null && planned !== pulled[image])
  if (!moved || (await wasTold(tx, action))) return undefined
  const { image, planned } = moved
  return {
    code: 'DIGEST_MISMATCH',
    message: `${image} is ${pulled[image]} on the host of ${action.tenantSlug}, and ${planned} where this fleet runs it, as the plan showed: somebody moved the tag. Nothing was stopped; resumed, the rollout takes the tag as it is now`,
  }
}

const digestIn = ({ boxes }: RolloutPlan, wanted: string): string | null => {
  for (const { images } of boxes) for (const { image, digest } of Object.values(images)) if (image === wanted) return digest
  return null
}

const wasTold = async (tx: Tx, { id, attempt: now }: StoredAction): Promise<boolean> =>
  (await attemptsOf(tx, id)).some(({ attempt, error }) => attempt < now && error?.code === 'DIGEST_MISMATCH')
