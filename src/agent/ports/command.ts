import type {
  BoxCommandKind,
  BoxCommandPayload,
  BoxCommandResult,
  BoxMigration,
  CommandOutputs,
  CommandSecrets,
  Progress,
} from '../../core/boxes/index.ts'

/** What an executor is given beside its payload. Secrets are fetched when asked for and never written to disk. */
export type CommandContext = Readonly<{
  commandId: string
  signal: AbortSignal
  progress(progress: Omit<Progress, 'at'>): void
  /** Throws UNREACHABLE when the daemon is away; LEASE_LOST when the command is no longer ours. */
  secrets(): Promise<CommandSecrets>
  /** All box migrations that the daemon has, proven by their sums. Throws UNREACHABLE when it is away, MANIFEST_INVALID for what must not run. */
  migrations(): Promise<readonly BoxMigration[]>
  /** Delivers what was made on the host and the platform needs; idempotent. */
  deliver(outputs: CommandOutputs): Promise<void>
}>

/** Executes one kind of command. It is called again with the same id after a crash and goes on from its journal. */
export type CommandExecutor<Kind extends BoxCommandKind> = (
  context: CommandContext,
  payload: BoxCommandPayload<Kind>,
) => Promise<BoxCommandResult<Kind>>

/** What an agent can do; the channel calls by kind and knows nothing of boxes. */
export type CommandExecutors = { readonly [Kind in BoxCommandKind]: CommandExecutor<Kind> }
