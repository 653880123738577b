import { type BoxCommandResult, type BoxId, importTransition, portsFrom, type VersionsReport } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command, CommandEnding, FailureHandlers, ResultHandlers } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import { releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import type { StepDeps } from './deps.ts'
import { ownerOfImport, publishImport } from './import-box.ts'
import { importAwaiting, type StoredImport, saveImport } from './imports.repo.ts'
import { boxesActor } from './step-move.ts'

// The ends of the commands of an import. A result without an import that waits for it changes nothing.

type Step = Readonly<{ deps: StepDeps; tx: Tx; box: BoxRecord; one: StoredImport }>

/** Runs `act` at the import that waits for the command. */
const atStep =
  (deps: StepDeps) =>
  async (tx: Tx, command: Command, act: (step: Step) => Promise<void>): Promise<void> => {
    const box = await boxById(tx, command.boxId as BoxId)
    const one = box && (await importAwaiting(tx, box.id, command.id))
    if (box && one) await act({ deps, tx, box, one })
  }

async function advance({ deps, tx, box, one }: Step, event: 'done' | 'refused', change: Partial<StoredImport>): Promise<void> {
  const state = importTransition(one.state, event)
  const after = { ...one, commandId: null, ...change, state, changedAt: isoNow(deps.clock) }
  await saveImport(tx, one, after)
  await releaseHold(tx, { boxId: box.id, holder: ownerOfImport(one) })
  await publishImport(tx, deps.clock, { one: after, box, actor: boxesActor })
}

const internalUrlOf = ({ ports }: BoxRecord) => (ports ? `http://127.0.0.1:${portsFrom(ports.public).platform}` : null)

async function imported(step: Step, { report, probe, facts }: BoxCommandResult<'tenant-box.import'>): Promise<void> {
  const { deps, tx, box } = step
  await changeBox(tx, box, { folder: null, project: null, internal_url: internalUrlOf(box) })
  await applyReport({ tx, clock: deps.clock, box }, report, probe)
  await advance(step, 'done', { facts, importedAt: isoNow(deps.clock), error: null })
}

async function undone(step: Step, { report, written }: BoxCommandResult<'tenant-box.undo_import'>): Promise<void> {
  const { deps, tx, box, one } = step
  await changeBox(tx, box, { folder: one.folder, project: one.project, internal_url: report.managed ? internalUrlOf(box) : null })
  await applyReport({ tx, clock: deps.clock, box }, report as VersionsReport)
  await advance(step, 'done', { written, error: null })
}

export const importResultHandlers = (deps: StepDeps): ResultHandlers => ({
  'tenant-box.import': (tx, command, result) => atStep(deps)(tx, command, (step) => imported(step, result)),
  'tenant-box.undo_import': (tx, command, result) => atStep(deps)(tx, command, (step) => undone(step, result)),
  'tenant-box.finish_import': (tx, command) => atStep(deps)(tx, command, (step) => advance(step, 'done', { error: null })),
})

/** The command of an agent that may still run it keeps the box on hold: a late result ends it. */
export function importFailureHandlers(deps: StepDeps): FailureHandlers {
  const failed = (tx: Tx, command: Command, { reported, lost }: CommandEnding) =>
    atStep(deps)(tx, command, async (step) => {
      if (!reported && !lost && command.leaseToken > 0) return
      await advance(step, 'refused', {
        error: command.error ?? { code: 'COMMAND_EXPIRED', message: 'the agent did not fetch the command in time' },
      })
    })
  return { 'tenant-box.import': failed, 'tenant-box.undo_import': failed, 'tenant-box.finish_import': failed }
}
