import type { BoxCommandResult } from '../../../../core/boxes/index.ts'
import { isoNow, problem } from '../../../../core/kit/index.ts'
import {
  type CompletedUpdate,
  type KnownBox,
  type PlannedRollback,
  planBoxRollback,
  refusalText,
  rollbackFailed,
} from '../../../../core/rollouts/index.ts'
import type { Tx } from '../../../db/index.ts'
import { recordRestore } from '../../../snapshots/index.ts'
import { replaceAction, type StoredAction } from '../../actions.repo.ts'
import { keepEvidence } from '../../attempts.repo.ts'
import type { RolloutsDeps } from '../../deps.ts'
import { fixesAround } from '../../emergency/fixes.repo.ts'
import { knownBox } from '../../known-boxes.ts'
import type { StoredRollout } from '../../rollouts.repo.ts'
import { tell } from '../../tell.ts'
import { doneUpdates } from '../../undo/done-updates.ts'
import { holdStill } from '../begin-action.ts'
import { observedBox } from '../observed-box.ts'
import { asOwner, awaiting, leftMs, type Owned, type Sent, send } from '../owned.ts'
import { settleUndo } from './settle-undo.ts'

type Report = BoxCommandResult<'tenant-box.report_versions'>['report']

/** What runs is known now: the box is left as it is, or its way back is ordered. */
export const examineUndo = (owned: Owned, slug: string, commandId: string, { report }: { report: Report }): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const update = await updateOf(tx, rollout.id, slug)
    const box = await knownBox(deps, tx, slug)
    const seen = box && observedBox(box, report, isoNow(deps.clock))
    const planned = planBoxRollback(action.undo?.mode ?? 'images', update, seen, {
      ...limitsOf(deps),
      fixes: await fixesAround(tx, rollout),
    })
    if (!seen || planned.does === 'refuse') {
      const error = { code: 'PREFLIGHT_REFUSED', message: refusalText(planned.findings) }
      return settleUndo(tx, deps, rollout, action, { verdict: rollbackFailed(error), evidence: { report } })
    }
    const lost = await holdStill(tx, deps, rollout, slug, box)
    if (lost) return settleUndo(tx, deps, rollout, action, { verdict: rollbackFailed(lost), evidence: { report } })
    await keepEvidence(tx, { actionId: action.id, attempt: action.attempt }, runningNow(report))
    const ordered = await order(tx, deps, rollout, action, { update, planned, box: seen })
    await replaceAction(tx, action, ordered)
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: ordered })
    return ordered
  })

/** The evidence that an undo stands on; there is one for every box that is to be brought back. */
export async function updateOf(tx: Tx, rolloutId: string, slug: string): Promise<CompletedUpdate> {
  const [update] = await doneUpdates(tx, { rolloutId, slug })
  if (!update) throw problem('INTERNAL', `the rollout ${rolloutId} has no evidence of how ${slug} was updated`)
  return update
}

const limitsOf = ({ clock, staleAfterMs, schemas, daemonVersion }: RolloutsDeps) => ({
  now: isoNow(clock),
  staleAfterMs,
  schemas,
  daemonVersion,
})

const runningNow = ({ services }: Report) => {
  const running = Object.entries(services).flatMap(([service, seen]) => (seen ? [[service, seen] as const] : []))
  return {
    imagesBefore: Object.fromEntries(running.map(([service, { image }]) => [service, image])),
    digestsBefore: Object.fromEntries(running.map(([service, { digest }]) => [service, digest])),
  }
}

type Way = Readonly<{ update: CompletedUpdate; planned: PlannedRollback; box: KnownBox }>

const order = (tx: Tx, deps: RolloutsDeps, rollout: StoredRollout, action: StoredAction, way: Way): Promise<StoredAction> =>
  way.planned.snapshotId === null ? prefetch(tx, deps, action, way) : restore(tx, deps, rollout, action, way)

/** The former images are pulled and pinned before any outage; the tables of the box stay at their head. */
function prefetch(tx: Tx, deps: RolloutsDeps, action: StoredAction, { planned, box }: Way): Promise<StoredAction> {
  const { boxId, ownershipEpoch, slug, installed } = box
  const images = Object.fromEntries(Object.entries(planned.images).map(([service, { image }]) => [service, image]))
  const targets = { services: planned.images, migrationsHead: installed.migrationsHead }
  const payload = { slug, boxId, ownershipEpoch, targets }
  const given = { step: 'prefetch', kind: 'tenant-box.prefetch', payload, deadlineMs: leftMs(deps, action) } as const
  return send(tx, deps, { ...action, images }, given)
}

/** The agent brings all that it needs while the box serves, keeps what is there now, and goes back to it where the restore fails. */
async function restore(tx: Tx, deps: RolloutsDeps, rollout: StoredRollout, action: StoredAction, { update, box }: Way) {
  const { boxId, ownershipEpoch, slug } = box
  if (!update.snapshot) throw problem('INTERNAL', `a restore of ${slug} was planned without a snapshot`)
  const { snapshotId, sha256: snapshotSha256 } = update.snapshot
  const deadlineMs = leftMs(deps, action)
  const payload = { slug, boxId, ownershipEpoch, snapshotId, snapshotSha256, probe: deps.probe, deadlineMs }
  const sent = await send(tx, deps, action, { step: 'restore', kind: 'tenant-box.restore', payload, deadlineMs })
  const reason = `rollout ${rollout.id} was rolled back: ${rollout.error ?? ''}`
  await recordRestore(tx, deps.clock, { commandId: sent.commandId as string, boxId, snapshotId, reason })
  await keepEvidence(tx, { actionId: action.id, attempt: action.attempt }, { snapshotId, snapshotSha256 })
  return sent
}
