import type {
  BoxCommandKind,
  BoxCommandResult,
  BoxMigration,
  CommandOutputs,
  CommandSecrets,
  VersionsReport,
} from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import type { Command } from './command.repo.ts'
import type { CommandBus } from './command-bus.ts'

/** What other rooms do with a good result, by kind, in the transaction that stores it: when it throws, the agent delivers again. */
export type ResultHandlers = {
  readonly [Kind in BoxCommandKind]?: (tx: Tx, command: Command, result: BoxCommandResult<Kind>) => Promise<void>
}

/**
 * What other rooms do when a command ended without a result, by kind, in the transaction that notes it. `told` = its agent said so; otherwise
 * the daemon gave up waiting, and unless nobody ever took the command, a result may still come.
 */
export type FailureHandlers = {
  readonly [Kind in BoxCommandKind]?: (tx: Tx, command: Command, ending: Readonly<{ told: boolean }>) => Promise<void>
}

/** What this room asks of others; the composition file gives it. Hosts know no box: only where one is, and what is said of it. */
export type BoxSide = Readonly<{
  /** Whether agents of the host may fetch commands of the box and be heard about them. */
  mayAct(db: DbOrTx, boxId: string, hostId: string): Promise<boolean>
  /** Boxes that the host may still keep and that are another's now. */
  disowned(db: DbOrTx, hostId: string): Promise<{ slug: string; boxId: string; ownershipEpoch: number }[]>
  resultHandlers: ResultHandlers
  failureHandlers?: FailureHandlers
  /** Reports as the agent of `hostId` sent them; boxes of other hosts among them must be passed over. */
  reportHandler(tx: Tx, hostId: string, reports: readonly VersionsReport[]): Promise<void>
  /** Only what the command's kind may have leaves the daemon, whatever is returned here. */
  secretsFor(db: DbOrTx, command: Command): Promise<CommandSecrets>
  /** What brings the platform's tables into boxes, in order. */
  migrations: readonly BoxMigration[]
  /** Seals and stores; called again with the same outputs when the answer was lost. */
  acceptOutputs(tx: Tx, command: Command, outputs: CommandOutputs): Promise<void>
}>

export type AgentTimes = Readonly<{ longPollMs: number; offlineAfterMs: number; requeueAfterMs: number; reapAfterMs: number }>

export type HostsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  bus: CommandBus
  /** As agents were enrolled with: the audience of their tokens rests on it. */
  baseUrl: string
  agents: AgentTimes
  /** Versions that this daemon speaks with agents; absent: those of this program. */
  protocols?: readonly number[]
  boxes: BoxSide
}>
