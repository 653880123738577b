import type {
  BoxCommandKind,
  BoxCommandPayload,
  BoxCommandResult,
  BoxMigration,
  CommandOutputs,
  CommandSecrets,
  LogBatch,
  Progress,
} from '../../core/boxes/index.ts'

/** Context of an executor. Secrets are fetched on demand and never written to disk. */
export type CommandContext = Readonly<{
  commandId: string
  signal: AbortSignal
  progress(progress: Omit<Progress, 'at'>): void
  /** Throws UNREACHABLE when the daemon does not answer, LEASE_LOST when the lease has moved to another agent. */
  secrets(): Promise<CommandSecrets>
  /** All box migrations, verified by checksum. Throws UNREACHABLE, and MANIFEST_INVALID for invalid ones. */
  migrations(): Promise<readonly BoxMigration[]>
  /** Delivers outputs generated on the host to the daemon; idempotent. */
  deliver(outputs: CommandOutputs): Promise<void>
  /** Sends lines to the follower. `busy`: not taken, for a slow follower or a daemon that does not answer; `ended`: the follower is gone. */
  sendLines(batch: LogBatch): Promise<'accepted' | 'busy' | 'ended'>
}>

/** Executes one kind of command. After a crash it is called again with the same id and resumes from its journal. */
export type CommandExecutor<Kind extends BoxCommandKind> = (
  context: CommandContext,
  payload: BoxCommandPayload<Kind>,
) => Promise<BoxCommandResult<Kind>>

/** One executor per command kind. */
export type CommandExecutors = { readonly [Kind in BoxCommandKind]: CommandExecutor<Kind> }
