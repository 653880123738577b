import type { UpdateResult } from '../../../core/boxes/index.ts'
import { type ActionError, evaluateUpdate } from '../../../core/rollouts/index.ts'
import { asOwner, awaiting, type Owned, type Sent } from './owned.ts'
import { type Ending, settle } from './settle.ts'

/** The agent said how its update ended, maybe long after everybody stopped waiting: it counts all the same. */
export const judgeAction = (owned: Owned, slug: string, commandId: string, result: UpdateResult): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const digests = Object.fromEntries(Object.entries(action.images).map(([service, image]) => [service, rollout.digests[image] as string]))
    return settle(tx, owned.deps, rollout, action, endingOf(result, digests))
  })

function endingOf(result: UpdateResult, digests: Readonly<Record<string, string>>): Ending {
  const { status, error, runsOther } = evaluateUpdate(result, digests)
  const { snapshotOk, healthOk, snapshotId, snapshotSha256, fencedMs, durationMs, composeBackup, probes, report } = result
  const { digestsBefore, digestsAfter, restored = null } = result
  // An agent that commits another image than planned has not done this update.
  const updateOk = result.updateOk && error?.code !== 'DIGEST_MISMATCH'
  const rolledBack = result.rolledBack && status === 'rolled_back'
  return {
    status,
    error,
    leftOpen: result.leftOpen,
    runsOther,
    shows: { snapshotOk, updateOk, healthOk, rolledBack, snapshotId, fencedMs },
    evidence: { snapshotId, snapshotSha256, digestsBefore, digestsAfter, probes, composeBackup, restored, durationMs, fencedMs, report },
  }
}

/** A command that failed or that nobody fetched ends its attempt; whatever the agent did before, it has not touched the box. */
export const failAction = (owned: Owned, slug: string, commandId: string, error: ActionError): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const action = await awaiting(tx, rollout.id, slug, commandId)
    return action && settle(tx, owned.deps, rollout, action, { status: 'failed', error })
  })
