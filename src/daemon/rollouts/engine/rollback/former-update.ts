import { problem } from '../../../../core/kit/index.ts'
import type { CompletedUpdate } from '../../../../core/rollouts/index.ts'
import type { StoredAction } from '../../actions.repo.ts'
import { completedUpdates } from '../../rollback/completed-updates.repo.ts'
import type { LockedAction } from '../under-lease.ts'

/** The evidence of the update that is rolled back; every box to roll back has one. */
export async function updateOf({ tx, rollout, action }: LockedAction): Promise<CompletedUpdate> {
  const [update] = await completedUpdates(tx, { rolloutId: rollout.id, slug: action.tenantSlug })
  if (!update) throw problem('INTERNAL', `rollout ${rollout.id} has no evidence of its update of ${action.tenantSlug}`)
  return update
}

/** By service that is rolled back by its image. */
export const formerDigests = ({ images }: StoredAction, { digestsBefore }: CompletedUpdate): Record<string, string> =>
  Object.fromEntries(
    Object.keys(images).flatMap((service) => {
      const digest = digestsBefore[service]
      return digest ? [[service, digest]] : []
    }),
  )
