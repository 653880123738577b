import type { BoxMigration, ProbeRule, SynapseSchemas } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Parallelism, Rehearsal, RehearsalInput } from '../../core/rollouts/index.ts'
import type { WindowRules } from '../../core/windows/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'
import type { CommandBus } from '../hosts/index.ts'
import type { AskRegistries } from './ask-registries.ts'
import type { RolloutBus } from './rollout-bus.ts'

type RolloutSettings = Parallelism & Readonly<{ pollMs: number; actionDeadlineMs: number }>

/** Throws what making the rollout would throw, and the signal's reason once it aborts. */
export type Rehearse = (given: RehearsalInput, signal: AbortSignal) => Promise<Rehearsal>

/** All that rollouts need; each verb names what it takes of it. */
export type RolloutsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  /** Commands to agents: told when one is queued, listened to for what becomes of it. */
  bus: CommandBus
  rolloutBus: RolloutBus
  /** This replica, as leases name it. */
  holder: string
  settings: RolloutSettings
  probe: ProbeRule
  staleAfterMs: number
  offlineAfterMs: number
  /** What each Synapse writes and needs. */
  schemas: SynapseSchemas
  daemonVersion: string
  /** A box whose chat would be away for longer is refused unless the operator allows it. */
  fenceMaxMs: number
  /** When boxes may be disturbed whose tenants do not say it. */
  windows: WindowRules
  /** Throws CONFIG unless there is a backup key and somewhere to put snapshots: no snapshot, no update. */
  requireSnapshots(): unknown
  /** What the daemon carries for boxes; no emergency aims beyond it. */
  migrations: readonly BoxMigration[]
  /** What the plan's tags are; undefined where nobody is asked, as in a rehearsal: then the first pull decides. */
  askRegistries?: AskRegistries | undefined
  /** Plays a rollout through where it holds up nobody; undefined where nobody gave the daemon a place for it. */
  rehearse?: Rehearse | undefined
  /** The hash of the token without which no emergency is made; undefined where nobody made one. */
  approvalTokenSha256: string | undefined
}>

/** What every verb stands on. */
export type VerbDeps = Pick<RolloutsDeps, 'db' | 'clock' | 'rolloutBus'>
