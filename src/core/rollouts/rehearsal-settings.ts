import type { BoxMigration, ProbeRule, SynapseSchemas } from '../boxes/index.ts'
import type { WindowRules } from '../windows/index.ts'
import type { Parallelism } from './makespan.ts'
import type { RehearsalRequest } from './rehearsal-contract.ts'

/** What the daemon goes by, as far as a rollout depends on it. Plain values: a rehearsal is played where the daemon is not. */
export type RehearsalSettings = Readonly<{
  rollouts: Parallelism & Readonly<{ pollMs: number; actionDeadlineMs: number }>
  probe: ProbeRule
  staleAfterMs: number
  offlineAfterMs: number
  fenceMaxMs: number
  windows: WindowRules
  schemas: SynapseSchemas
  migrations: readonly BoxMigration[]
  daemonVersion: string
}>

export type RehearsalInput = Readonly<{
  settings: RehearsalSettings
  wanted: RehearsalRequest
  /** The moment at which the rollout starts. */
  startIso: string
}>
