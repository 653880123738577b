import { isoNow } from '../../../../core/kit/index.ts'
import { awaitsRollback } from '../../../../core/rollouts/index.ts'
import { actionBySlug, replaceAction } from '../../actions.repo.ts'
import { tell } from '../../tell.ts'
import { asOwner, type Owned, type Sent } from '../owned.ts'

/** A box that others hold waits for its turn to go back, and everybody sees for whom; null when it waits no longer. */
export const showUndoWait = (owned: Owned, slug: string, why: string | null): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { clock } = owned.deps
    const action = await actionBySlug(tx, rollout.id, slug)
    if (!awaitsRollback(action)) return undefined
    const shown = { ...action, progress: why === null ? null : { step: 'wait', detail: why, at: isoNow(clock) } }
    await replaceAction(tx, action, shown)
    await tell(tx, clock, rollout, { type: 'rollout.action', action: shown })
    return undefined
  })
