import { type BoxCommandResult, eventOfFailure, type ProbeResult, portsFrom, type VersionsReport } from '../../../core/boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import type { BoxTable } from '../boxes.tables.ts'
import type { StepDeps } from './deps.ts'
import { forgetCopies, type Move } from './moves.repo.ts'
import { keptUntil, recordMoveTrouble, stepMove } from './step-move.ts'

/** The old host has stopped it; the new one may have it. */
export async function handedOver(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, result: BoxCommandResult<'tenant-box.hand_over'>) {
  const { snapshotId, snapshotSha256, takenAt } = result.snapshot
  const snapshot = { snapshotId, snapshotSha256, takenAt }
  await stepMove(deps, tx, box, move, { event: 'handed_over', change: { snapshot, toCopy: true } })
}

/** Only here does the registry say that the box is on another host. */
export async function takenOver(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, result: BoxCommandResult<'tenant-box.take_over'>) {
  if (result.outcome !== 'restored') {
    const error = result.error ?? { code: 'RESTORE_FAILED', message: 'the new host could not bring the box up' }
    // A failed one leaves nothing behind; one that could not be cleared away rests there, fenced and stopped.
    return turnBack(deps, tx, box, move, { error, toCopy: result.outcome === 'restore_failed' })
  }
  await forgetCopies(tx, box.id, move.toHostId)
  const { platform } = portsFrom(move.toPort)
  await changeBox(tx, box, {
    host_id: move.toHostId,
    ownership_epoch: move.epoch,
    first_port: move.toPort,
    internal_url: `http://127.0.0.1:${platform}`,
    folder: null,
    project: null,
    ...unheard,
  })
  await believe(deps, tx, box, result.report, result.probes.at(-1))
  // It is the new host's, whatever else is said: an error tells that it could not be opened there.
  const { error } = result
  return stepMove(deps, tx, box, move, { event: 'taken_over', change: { toCopy: false, error, keepUntil: keptUntil(deps) } })
}

/** Its old host runs it again, under an ownership above all that was given out for the move. */
export async function takenBack(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, result: BoxCommandResult<'tenant-box.take_back'>) {
  await changeBox(tx, box, { ownership_epoch: move.epoch, ...unheard })
  await believe(deps, tx, box, result.report, result.probe)
  await stepMove(deps, tx, box, move, { event: 'taken_back', change: { fromCopy: false, error: bothErrors(move.error, result.error) } })
}

/** Why it was given back, and that it could not be opened then: the latter wants a person now. */
const bothErrors = (before: Move['error'], now: Move['error'] | undefined): Move['error'] =>
  before && now ? { code: now.code, message: `${now.message}; it was given back because: ${before.message}` } : (now ?? before)

/** What was reported before says nothing under the new ownership. */
const unheard = {
  reported_at: null,
  last_report: null,
  last_probe: null,
  fenced: 0,
  fence_holder: null,
  fence_since: null,
  fence_overdue_at: null,
} satisfies Partial<BoxTable>

async function believe(deps: StepDeps, tx: Tx, { id }: BoxRecord, report: VersionsReport | null, probe: ProbeResult | undefined) {
  const box = await boxById(tx, id)
  if (box && report) await applyReport(deps, tx, box, report, probe)
}

/** A command of the move ended without a result: it goes the way that is left, or waits for what only the host knows. */
export async function moveOrderFailed(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, command: Command, told: boolean) {
  const error = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the command ended without a result' }
  const event = eventOfFailure(move.state, { told, taken: command.leaseToken > 0, oldHostIsDead: move.oldHostIsDead })
  if (!event) return recordMoveTrouble(deps, tx, box, move, error)
  if (move.state === 'taking_over') return turnBack(deps, tx, box, move, { error, toCopy: false })
  const change = move.state === 'handing_over' ? { error, fromCopy: false, toCopy: false } : { error }
  return stepMove(deps, tx, box, move, { event, change })
}

const turnBack = (deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, change: { error: Move['error']; toCopy: boolean }) =>
  stepMove(deps, tx, box, move, { event: move.oldHostIsDead ? 'lost' : 'refused', change })
