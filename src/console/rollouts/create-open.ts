import { isOver, type RolloutStatus } from '../../core/rollouts/index.ts'

/**
 * Returns the rollout that `find` finds, or creates one if it is over. A call whose answer was lost is repeated under its key for five minutes
 * and finds the rollout of the first: if that is over, the next call, with a new key, creates another one.
 */
export async function createOpen<Created extends Readonly<{ status: RolloutStatus }>>(
  create: () => Promise<Created>,
  find: () => Promise<Created> = create,
): Promise<Created> {
  const found = await find()
  return isOver(found.status) ? create() : found
}
