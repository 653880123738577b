import type { BoxCommandResult } from '../../../core/boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import type { StepDeps } from './deps.ts'
import type { Removal } from './removals.repo.ts'
import { keptUntil } from './step-move.ts'
import { passRemoval, recordRemovalTrouble, stepRemoval } from './step-removal.ts'

/** It stands still, and its last snapshot is taken: from now on it is removed. */
export async function stoppedForGood(
  deps: StepDeps,
  tx: Tx,
  box: BoxRecord,
  removal: Removal,
  { snapshot: { snapshotId } }: BoxCommandResult<'tenant-box.hand_over'>,
) {
  const keepUntil = keptUntil(deps)
  const stopped = { event: 'handed_over', change: { snapshotId, keepUntil } } as const
  if (!removal.eraseNow) return stepRemoval(deps, tx, box, removal, stopped)
  const kept = await passRemoval(deps, tx, box, removal, stopped)
  return stepRemoval(deps, tx, await again(tx, box), kept, { event: 'erase_asked', change: { keepUntil } })
}

const again = async (tx: Tx, box: BoxRecord): Promise<BoxRecord> => (await boxById(tx, box.id)) ?? box

/** It runs as before it was removed. */
export async function runsAgain(
  deps: StepDeps,
  tx: Tx,
  box: BoxRecord,
  removal: Removal,
  { report, probe, error = null }: BoxCommandResult<'tenant-box.take_back'>,
) {
  await changeBox(tx, box, { live: 1, removal: null, ownership_epoch: removal.epoch, reported_at: null })
  const live = await again(tx, box)
  await applyReport(deps, tx, live, report, probe)
  await stepRemoval(deps, tx, live, removal, { event: 'taken_back', change: { error } })
}

export const erased = (deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal) =>
  stepRemoval(deps, tx, box, removal, { event: 'erased', change: { keepUntil: null } })

/** A host that knows no such box has nothing to erase. What only the host knows is waited for. */
export async function removalOrderFailed(deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal, command: Command, told: boolean) {
  const error = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the command ended without a result' }
  if (!told && command.leaseToken > 0) return recordRemovalTrouble(deps, tx, box, removal, error)
  if (told && removal.state === 'erasing' && error.code === 'NOT_FOUND') return erased(deps, tx, box, removal)
  const keepUntil = removal.state === 'handing_over' ? null : (removal.keepUntil ?? keptUntil(deps))
  return stepRemoval(deps, tx, box, removal, { event: 'refused', change: { error, keepUntil, eraseNow: false } })
}
