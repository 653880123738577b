import type { BoxCommandResult, BoxId, BoxMigration, CommandSecrets, HostId, ProbeResult, VersionsReport } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import { appendEvent, type DbOrTx, type Tx, type WithTx } from '../db/index.ts'
import type { BoxPort, Command, CommandEnding, FailureHandlers, ResultHandlers } from '../hosts/index.ts'
import type { Keyring } from '../sealed/index.ts'
import { applyReport, applyReports } from './apply-report.ts'
import type { BoxRecord } from './box-record.ts'
import { sealOutputs } from './box-secrets.ts'
import { boxById, makeLive } from './boxes.repo.ts'
import type { LifecycleRules, StepDeps } from './lifecycle/deps.ts'
import { failMaintenance, finishMaintenance } from './lifecycle/maintain-box.ts'
import { disownedBy, mayAct } from './lifecycle/ownership.ts'
import { moveAwaiting, removalAwaiting } from './lifecycle/procedures.repo.ts'
import { endRestart, failRestart } from './lifecycle/restart-box.ts'
import { importFailureHandlers, importResultHandlers } from './lifecycle/step-import.ts'
import { failMoveCommand, finishHandOver, finishTakeBack, finishTakeOver, type MoveTx, stepMove } from './lifecycle/step-move.ts'
import { failRemovalCommand, finishErase, finishRemovalHandOver, finishRemovalTakeBack, type RemovalTx } from './lifecycle/step-removal.ts'
import { upgradeFailures, upgradeResults } from './upgrades.ts'

type BoxPortDeps = LifecycleRules &
  Readonly<{
    clock: Clock
    random: Random
    keyring: Keyring
    migrations: readonly BoxMigration[]
    secretsFor(db: DbOrTx, command: Command): Promise<CommandSecrets>
  }>

/** The box side of the agent channel: ownership, results, failures, reports and secrets. */
export const boxPort = (deps: BoxPortDeps): BoxPort => ({
  mayAct: (db, command, hostId) => mayAct(db, command, hostId as HostId),
  disowned: (db, hostId) => disownedBy(db, hostId as HostId),
  resultHandlers: { ...boxResultHandlers(deps), ...upgradeResults(deps), ...lifeResultHandlers(deps), ...importResultHandlers(deps) },
  failureHandlers: { ...lifeFailureHandlers(deps), ...upgradeFailures(deps), ...importFailureHandlers(deps) },
  reportHandler: (tx, hostId, reports) => applyReports({ tx, clock: deps.clock }, hostId as HostId, reports),
  secretsFor: deps.secretsFor,
  migrations: deps.migrations,
  acceptOutputs: (tx, { boxId }, { snapshotRepositoryId: _, ...credentials }) => sealOutputs({ ...deps, tx }, boxId as BoxId, credentials),
})

type Deps = Readonly<{ clock: Clock }>

type RestartResult = BoxCommandResult<'tenant-box.restart'>

async function storeRestart(step: WithTx<Deps> & Readonly<{ command: Command }>, { report, probe }: RestartResult): Promise<void> {
  await storeReport(step, report, probe)
  await endRestart(step.tx, step.command)
}

/** Stores the results of successful commands. `prefetch` has none: pulled images change nothing that runs. */
const boxResultHandlers = (deps: Deps): ResultHandlers => ({
  'tenant-box.report_versions': (tx, command, { report }) => storeReport({ ...deps, tx, command }, report),
  'tenant-box.healthcheck': (tx, command, { report, probe }) => storeReport({ ...deps, tx, command }, report, probe),
  'tenant-box.provision': (tx, command, { report, probe }) => finishSetUp({ ...deps, tx, command }, { report, probe }),
  'tenant-box.adopt': (tx, command, { report }) => finishSetUp({ ...deps, tx, command }, { report }),
  'tenant-box.adopt_again': (tx, command, { report }) => storeReport({ ...deps, tx, command }, report),
  'tenant-box.restart': (tx, command, result) => storeRestart({ ...deps, tx, command }, result),
  'tenant-box.restart_services': (tx, command, result) => storeRestart({ ...deps, tx, command }, result),
  'tenant-box.restore': async (tx, command, { report, probes }) => {
    if (report) await storeReport({ ...deps, tx, command }, report, probes.at(-1))
  },
  'tenant-box.update': async (tx, command, { report, probes }) => {
    if (report) await storeReport({ ...deps, tx, command }, report, probes.at(-1))
  },
})

const boxOf = (tx: Tx, { boxId }: Command): Promise<BoxRecord | undefined> => boxById(tx, boxId as BoxId)

/** The command whose result is stored, in its transaction. */
type CommandTx = Deps & Readonly<{ tx: Tx; command: Command }>

async function storeReport({ clock, tx, command }: CommandTx, report: VersionsReport, probe?: ProbeResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (box) await applyReport({ tx, clock, box }, report, probe)
}

type SetUpResult = Readonly<{ report: VersionsReport; probe?: ProbeResult }>

/** Makes a box live after its first successful set-up. Ignores results of a replaced attempt and of a removed box. */
async function finishSetUp({ clock, tx, command }: CommandTx, { report, probe }: SetUpResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (!box || box.live || box.removal || box.setUp.commandId !== command.id) return
  if (!(await makeLive(tx, box))) return
  await applyReport({ tx, clock, box }, report, probe)
  const payload = { boxId: box.id, slug: box.slug, tenantId: box.tenantId }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.ready', payload })
}

/** Continues the procedure that waits for the command. A result without a waiting procedure changes nothing. */
const lifeResultHandlers = (deps: StepDeps): ResultHandlers => ({
  'tenant-box.maintenance': (tx, command, result) => finishMaintenance({ ...deps, tx }, command, result),
  'tenant-box.hand_over': (tx, command, result) =>
    dispatch(
      { deps, tx, command },
      {
        move: (step) => finishHandOver(step, result),
        removal: (step) => finishRemovalHandOver(step, result),
      },
    ),
  'tenant-box.take_over': (tx, command, result) => dispatch({ deps, tx, command }, { move: (step) => finishTakeOver(step, result) }),
  'tenant-box.take_back': (tx, command, result) =>
    dispatch(
      { deps, tx, command },
      {
        move: (step) => finishTakeBack(step, result),
        removal: (step) => finishRemovalTakeBack(step, result),
      },
    ),
  'tenant-box.remove': (tx, command, result) =>
    dispatch(
      { deps, tx, command },
      {
        move: (step) => stepMove(step, { event: 'removed', change: { fromCopy: false, keepUntil: null } }),
        removal: (step) => finishErase(step, result),
      },
    ),
})

function lifeFailureHandlers(deps: StepDeps): FailureHandlers {
  const failed = (tx: Tx, command: Command, ending: CommandEnding) =>
    dispatch(
      { deps, tx, command },
      {
        move: (step) => failMoveCommand(step, { command, ending }),
        removal: (step) => failRemovalCommand(step, { command, ending }),
      },
    )
  return {
    'tenant-box.maintenance': (tx, command, { reported }) => failMaintenance({ ...deps, tx }, command, reported),
    'tenant-box.restart': failRestart,
    'tenant-box.restart_services': failRestart,
    'tenant-box.hand_over': failed,
    'tenant-box.take_over': failed,
    'tenant-box.take_back': failed,
    'tenant-box.remove': failed,
  }
}

type ProcedureTx = Readonly<{ deps: StepDeps; tx: Tx; command: Command }>

type Handlers = Readonly<{
  move: (step: MoveTx) => Promise<unknown>
  removal?: (step: RemovalTx) => Promise<unknown>
}>

async function dispatch({ deps, tx, command: { id, boxId } }: ProcedureTx, handlers: Handlers): Promise<void> {
  const box = await boxById(tx, boxId as BoxId)
  if (!box) return
  const move = await moveAwaiting(tx, id)
  if (move) await handlers.move({ deps, tx, box, move })
  const removal = await removalAwaiting(tx, id)
  if (removal) await handlers.removal?.({ deps, tx, box, removal })
}
