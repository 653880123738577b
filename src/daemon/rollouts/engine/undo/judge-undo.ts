import type { RestoreResult, UpdateResult } from '../../../../core/boxes/index.ts'
import { type ActionError, evaluateImageRollback, evaluateSnapshotRollback, rollbackFailed } from '../../../../core/rollouts/index.ts'
import type { StoredAction } from '../../actions.repo.ts'
import type { Evidence } from '../../attempts.repo.ts'
import { asOwner, awaiting, type Owned, type Sent } from '../owned.ts'
import { updateOf } from './examine-undo.ts'
import { formerDigests } from './order-undo.ts'
import { settleUndo } from './settle-undo.ts'

/** The agent said how the way back ended, maybe long after everybody stopped waiting: it counts all the same. */
export const judgeUndo = (owned: Owned, slug: string, commandId: string, result: UpdateResult | RestoreResult): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const update = await updateOf(tx, rollout.id, slug)
    const verdict = isUpdate(action, result)
      ? evaluateImageRollback(result, formerDigests(action, update))
      : evaluateSnapshotRollback(result as RestoreResult, update.digestsBefore)
    const evidence = isUpdate(action, result) ? imagesEvidence(result) : snapshotEvidence(result as RestoreResult)
    return settleUndo(tx, owned.deps, rollout, action, { verdict, shows: { fencedMs: result.fencedMs }, evidence })
  })

const isUpdate = ({ step }: StoredAction, _: UpdateResult | RestoreResult): _ is UpdateResult => step === 'update'

function imagesEvidence(result: UpdateResult): Evidence {
  const {
    snapshotId,
    snapshotSha256,
    digestsBefore,
    digestsAfter,
    probes,
    composeBackup,
    restored = null,
    durationMs,
    fencedMs,
    report,
  } = result
  return { snapshotId, snapshotSha256, digestsBefore, digestsAfter, probes, composeBackup, restored, durationMs, fencedMs, report }
}

function snapshotEvidence({ probes, durationMs, fencedMs, report }: RestoreResult): Evidence {
  const running = Object.entries(report?.services ?? {})
  const digestsAfter = Object.fromEntries(running.map(([service, seen]) => [service, seen?.digest ?? null]))
  return { digestsAfter, probes, durationMs, fencedMs, report }
}

/** A command that failed or that nobody fetched ends the way back; whatever the agent did before, it has not touched the box. */
export const failUndo = (owned: Owned, slug: string, commandId: string, error: ActionError): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const action = await awaiting(tx, rollout.id, slug, commandId)
    return action && settleUndo(tx, owned.deps, rollout, action, { verdict: rollbackFailed(error) })
  })
