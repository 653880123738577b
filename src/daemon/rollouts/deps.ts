import type { BoxMigration, ProbeRule, SynapseSchemas, TierSnapshots } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Parallelism, Rehearsal, RehearsalInput, TierFences, UpgradeRules } from '../../core/rollouts/index.ts'
import type { WindowRules } from '../../core/windows/index.ts'
import type { Logger, Tracing } from '../../node/index.ts'
import type { Db } from '../db/index.ts'
import type { CommandBus } from '../hosts/index.ts'
import type { AskPrometheus } from './prometheus.ts'
import type { AskRegistries } from './resolve-images.ts'
import type { RolloutBus } from './rollout-bus.ts'

type RolloutSettings = Parallelism & Readonly<{ pollMs: number; actionDeadlineMs: number; assumedUpdateMs?: number }>

/** Throws what creating the rollout would throw, and the signal's reason once it aborts. */
export type Rehearse = (input: RehearsalInput, signal: AbortSignal) => Promise<Rehearsal>

/** The dependencies of the feature; each verb picks its own. */
export type RolloutsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  tracing?: Tracing | undefined
  /** Notifies agents of queued commands, and the engine of changed ones. */
  bus: CommandBus
  rolloutBus: RolloutBus
  /** The name of this replica in leases. */
  owner: string
  settings: RolloutSettings
  probe: ProbeRule
  staleAfterMs: number
  offlineAfterMs: number
  /** The database schema that each Synapse version writes and needs. */
  schemas: SynapseSchemas
  /** A longer expected downtime blocks the box unless the operator allows it. */
  fenceMaxMs: number
  upgrades: UpgradeRules
  /** When the fence of a box ends, by tier, unless its rollout says so. */
  fences: TierFences
  snapshots: TierSnapshots
  /** Limit of hot copies. */
  copyBytesPerSecond: number
  /** Maintenance windows of tenants without their own. */
  windows: WindowRules
  /** Throws CONFIG unless a backup key and a snapshot store are configured: no snapshot, no update. */
  assertSnapshotsConfigured(): unknown
  /** The box migrations of this daemon; no emergency targets a later head. */
  migrations: readonly BoxMigration[]
  /** Resolves the tags of a plan. Undefined in a rehearsal: then the first pull decides. */
  askRegistries?: AskRegistries | undefined
  /** Answers gates; undefined without `prometheus.url`, and in a rehearsal, which has no gates. */
  prometheus?: AskPrometheus | undefined
  /** Runs a rehearsal in a worker; undefined where the daemon has none. */
  rehearse?: Rehearse | undefined
  /** The hash of the approval token for emergencies; undefined where none is configured. */
  approvalTokenSha256: string | undefined
  /** A recovery key other than the backup key is configured. */
  hasRecoveryKey: boolean
}>

/** The dependencies of every verb. */
export type VerbDeps = Pick<RolloutsDeps, 'db' | 'clock' | 'rolloutBus'>
