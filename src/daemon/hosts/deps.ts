import type {
  BoxCommandKind,
  BoxCommandResult,
  BoxMigration,
  CommandOutputs,
  CommandSecrets,
  VersionsReport,
} from '../../core/boxes/index.ts'
import type { ArchiveOrders, ArchiveReport } from '../../core/hosts/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger, Tracing } from '../../node/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import type { CommandBus } from './command-bus.ts'
import type { Command } from './commands.repo.ts'

/** Handlers for results, by kind, in the transaction that stores the result. If one throws, the agent sends the result again. */
export type ResultHandlers = {
  readonly [Kind in BoxCommandKind]?: (tx: Tx, command: Command, result: BoxCommandResult<Kind>) => Promise<void>
}

export type CommandEnding = Readonly<{ reported: boolean; lost?: boolean }>

/**
 * Handlers for commands that ended without a result, by kind, in the same transaction. `reported`: the agent reported the failure; otherwise
 * the command expired, and a result of a leased one may still arrive, unless its agent `lost` it: then none will.
 */
export type FailureHandlers = {
  readonly [Kind in BoxCommandKind]?: (tx: Tx, command: Command, ending: CommandEnding) => Promise<void>
}

/** Functions that hosts need from the boxes feature. Hosts know only ids and locations of boxes. */
export type BoxPort = Readonly<{
  /** True if the host may fetch this command of the box and report about it. */
  mayAct(db: DbOrTx, command: Pick<Command, 'boxId' | 'kind' | 'payload'>, hostId: string): Promise<boolean>
  /** Boxes that may still exist on the host but belong to another one now. */
  disowned(db: DbOrTx, hostId: string): Promise<{ slug: string; boxId: string; ownershipEpoch: number }[]>
  resultHandlers: ResultHandlers
  failureHandlers?: FailureHandlers
  /** Handles version reports; boxes of other hosts must be ignored. */
  reportHandler(tx: Tx, hostId: string, reports: readonly VersionsReport[]): Promise<void>
  /** Filtered by the command's kind before anything is sent. */
  secretsFor(db: DbOrTx, command: Command): Promise<CommandSecrets>
  /** Migrations of the platform's tables in boxes, in order. */
  migrations: readonly BoxMigration[]
  /** Stores what the host created, credentials sealed; idempotent, because a lost response is repeated. */
  acceptOutputs(tx: Tx, command: Command, outputs: CommandOutputs): Promise<void>
}>

type ArchiveExchange = Readonly<{ reports: readonly ArchiveReport[]; secrets: boolean }>

export type AgentTimes = Readonly<{ longPollMs: number; offlineAfterMs: number; requeueAfterMs: number; reapAfterMs: number }>

export type HostsDeps = Readonly<{
  db: Db
  tracing?: Tracing | undefined
  clock: Clock
  random: Random
  log: Logger
  bus: CommandBus
  /** The public URL; part of the audience of agent tokens. */
  baseUrl: string
  agents: AgentTimes
  /** Stores what a host archived, and returns the boxes whose archive it stores; absent: none. */
  archives?: (hostId: string, body: ArchiveExchange) => Promise<ArchiveOrders>
  /** Supported protocol versions; default: those of this program. */
  protocols?: readonly number[]
  boxes: BoxPort
}>
