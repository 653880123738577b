import type { ActionError, RolloutPlan } from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { attemptsOf } from '../attempts.repo.ts'
import { planOf } from '../plans.repo.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/**
 * Whoever approved a plan saw which image the fleet runs under a tag. A first pull that finds another one there is refused; resumed by somebody
 * who was told of that very image, the rollout takes it. The plan is long, and read only before a tag is pinned.
 */
export async function otherThanPlanned(
  tx: Tx,
  rollout: Pick<StoredRollout, 'id' | 'digests'>,
  action: StoredAction,
  pulled: Readonly<Record<string, string>>,
): Promise<ActionError | undefined> {
  const first = [...new Set(Object.values(action.images))].filter((image) => rollout.digests[image] === undefined)
  if (first.length === 0) return undefined
  const plan = await planOf(tx, rollout.id)
  const moved = first.flatMap((image) => {
    const planned = digestIn(plan, image)
    return planned === null || planned === pulled[image] ? [] : [{ found: `${image} is ${pulled[image]}`, planned }]
  })
  const told = moved.length === 0 ? [] : await toldBefore(tx, action)
  if (moved.every(({ found }) => told.some((message) => message.includes(found)))) return undefined
  const found = moved.map(
    (one) => `${one.found} on the host of ${action.tenantSlug}, and ${one.planned} where this fleet runs it, as the plan showed`,
  )
  const moral = 'somebody moved the tag. Nothing was stopped; resumed, the rollout takes the tag as it is now'
  return { code: 'DIGEST_MISMATCH', message: `${found.join('; ')}: ${moral}` }
}

const digestIn = ({ boxes }: RolloutPlan, wanted: string): string | null => {
  for (const { images } of boxes) for (const { image, digest } of Object.values(images)) if (image === wanted) return digest
  return null
}

/** What was said of earlier attempts: a tag that was moved once more since then nobody was told of. */
const toldBefore = async (tx: Tx, { id, attempt: now }: StoredAction): Promise<string[]> =>
  (await attemptsOf(tx, id)).flatMap(({ attempt, error }) => (attempt < now && error?.code === 'DIGEST_MISMATCH' ? [error.message] : []))
