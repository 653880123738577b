import { z } from 'zod'
import { type BoxMigration, type ProbeRule, Slug, type SynapseSchemas, type TierSnapshots } from '../boxes/index.ts'
import { admin, endpoint, Timestamp } from '../contract/index.ts'
import type { WindowRules } from '../windows/index.ts'
import { ActionError, ActionStatus } from './action.ts'
import { RequestedFence, RequestedSnapshot, type TierFences } from './fence-choice.ts'
import { Finding } from './finding.ts'
import { Gate } from './gate.ts'
import { BakeMs, Parallel, Phase } from './rollout.ts'
import type { Parallelism } from './scheduling.ts'

const Chance = z.number().min(0).max(1).default(0)
const Slugs = z.array(Slug).max(10_000)

/** Faults of a rehearsal: chances per box, drawn by the seed, and named boxes and hosts. */
export const RehearsedFaults = z.strictObject({
  /** Chance that the probes after an update fail. */
  probeFailRate: Chance,
  pullFailRate: Chance,
  /** Chance that a pull takes 15 minutes longer. */
  slowPullRate: Chance,
  /** Chance that a host is offline when it is first needed. */
  offlineRate: Chance,
  failProbes: Slugs.default([]),
  failPulls: Slugs.default([]),
  /** By host name. */
  offlineHosts: z.array(z.string().min(1).max(100)).max(1000).default([]),
})
export type RehearsedFaults = z.infer<typeof RehearsedFaults>

const maxRehearsalRuns = 9

export const RehearsalRequest = z.strictObject({
  targetSlugs: Slugs.min(1).optional(),
  allowLongFence: z.boolean().default(false),
  ignoreWindows: z.boolean().default(false),
  fenceMode: RequestedFence.default('auto'),
  snapshotMode: RequestedSnapshot.default('auto'),
  failureThreshold: z.number().int().min(1).max(1000).default(1),
  parallel: Parallel,
  bakeMs: BakeMs,
  /** The same seed, fleet and time give the same result. */
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 31)
    .default(1),
  /** Each run draws other faults; figures are the median of all runs. */
  runs: z.number().int().min(1).max(maxRehearsalRuns).default(1),
  faults: RehearsedFaults.prefault({}),
})
export type RehearsalRequest = z.infer<typeof RehearsalRequest>

/** All times count from the start of the rollout. */
const RehearsedPhase = z.object({
  phase: Phase,
  boxes: z.number().int(),
  beginsMs: z.number().nullable(),
  endsMs: z.number().nullable(),
})

export const RehearsedBox = z.object({
  tenantSlug: z.string(),
  hostName: z.string(),
  phase: Phase,
  status: ActionStatus,
  beginsMs: z.number().nullable(),
  endsMs: z.number().nullable(),
  /** Downtime in the first run; then the 50th and 95th percentile of all runs. */
  fenceMs: z.number().nullable(),
  fenceP50Ms: z.number().nullable(),
  fenceP95Ms: z.number().nullable(),
  /** Downtime that the plan expected. */
  expectedFenceMs: z.number(),
  /** Maximum downtime: the probes and the rollback take all their time. */
  worstFenceMs: z.number(),
  error: ActionError.nullable(),
  /** Why it never began. */
  waits: z.string().nullable(),
})
export type RehearsedBox = z.infer<typeof RehearsedBox>

/** A pause of the rollout; the rehearsal then continues without the failed boxes, as an operator may. */
export const RehearsedPause = z.object({ atMs: z.number(), phase: Phase.nullable(), reason: z.string() })
export type RehearsedPause = z.infer<typeof RehearsedPause>

export const Rehearsal = z.object({
  seed: z.number().int(),
  runs: z.number().int(),
  /** The simulated start. */
  startedAt: Timestamp,
  manifestRevision: z.number().int(),
  ended: z.enum(['done', 'stuck']),
  updates: z.number().int(),
  refused: z.number().int(),
  skipped: z.number().int(),
  /** From start to end without pauses; the median of all runs. */
  makespanMs: z.number(),
  /** Maximum: every box takes all its time. */
  worstMs: z.number(),
  phases: z.array(RehearsedPhase),
  boxes: z.array(RehearsedBox),
  pauses: z.array(RehearsedPause),
  /** The gates of the manifest, which are not asked: each is taken as passed after its time. */
  gates: z.array(Gate),
  /** Findings of the plan; boxes that it refuses are skipped. */
  findings: z.array(Finding.extend({ tenantSlug: z.string() })),
})
export type Rehearsal = z.infer<typeof Rehearsal>

export const rehearseRollout = endpoint({
  method: 'POST',
  audit: { none: 'changes nothing' },
  path: '/admin/tenant-boxes/rollouts/rehearse',
  auth: admin('operator'),
  cost: 'rehearsal',
  body: RehearsalRequest,
  perAddress: 1,
  returns: Rehearsal,
  problems: ['NOT_FOUND', 'UNAVAILABLE'],
  summary: 'Rehearse a staged rollout to the current manifest on a simulated copy of the fleet in virtual time (stores nothing)',
})

/** The settings of upgrades to another major version of PostgreSQL. */
export type UpgradeRules = Readonly<{
  /** How long an agent keeps the volume of the former version. */
  keepFormerDays: number
  /** The age up to which a rehearsal counts. */
  rehearsalMaxAgeMs: number
}>

/** The settings of the daemon that a rollout depends on, as plain values: a rehearsal runs in a worker. */
export type RehearsalSettings = Readonly<{
  rollouts: Parallelism & Readonly<{ pollMs: number; actionDeadlineMs: number; assumedUpdateMs?: number }>
  probe: ProbeRule
  staleAfterMs: number
  offlineAfterMs: number
  fenceMaxMs: number
  upgrades: UpgradeRules
  fences: TierFences
  snapshots: TierSnapshots
  windows: WindowRules
  schemas: SynapseSchemas
  migrations: readonly BoxMigration[]
}>

export type RehearsalInput = Readonly<{
  settings: RehearsalSettings
  request: RehearsalRequest
  /** The simulated start. */
  startIso: string
}>
