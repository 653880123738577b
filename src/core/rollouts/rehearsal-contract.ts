import { z } from 'zod'
import { type BoxMigration, type ProbeRule, Slug, type SynapseSchemas } from '../boxes/index.ts'
import { admin, endpoint, Timestamp } from '../contract/index.ts'
import type { WindowRules } from '../windows/index.ts'
import { ActionError, ActionStatus } from './action.ts'
import { Finding } from './finding.ts'
import { FenceMode, Phase } from './rollout.ts'
import type { Parallelism } from './scheduling.ts'

const Chance = z.number().min(0).max(1).default(0)
const Slugs = z.array(Slug).max(10_000)

/** What goes wrong in a rehearsal: chances that are drawn per box by the seed, and boxes and hosts that are named. */
export const RehearsedFaults = z.strictObject({
  /** Of an update after which the probes stay bad. */
  probeFailRate: Chance,
  pullFailRate: Chance,
  /** Of a pull that takes a quarter of an hour longer. */
  slowPullRate: Chance,
  /** Of a host that is gone when it is first needed. */
  offlineRate: Chance,
  failProbes: Slugs.default([]),
  failPulls: Slugs.default([]),
  /** By name. */
  offlineHosts: z.array(z.string().min(1).max(100)).max(1000).default([]),
})
export type RehearsedFaults = z.infer<typeof RehearsedFaults>

/** So many runs of one rehearsal at most. */
const mostRehearsalRuns = 9

export const RehearsalRequest = z.strictObject({
  targetSlugs: Slugs.min(1).optional(),
  allowLongFence: z.boolean().default(false),
  ignoreWindows: z.boolean().default(false),
  fenceMode: FenceMode.default('until-stable'),
  failureThreshold: z.number().int().min(1).max(1000).default(1),
  /** The same seed, the same fleet and the same moment give the same result. */
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 31)
    .default(1),
  /** Each further run draws anew; figures are then the middle of all. */
  runs: z.number().int().min(1).max(mostRehearsalRuns).default(1),
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
  /** How long its chat answered 503, in the first run; then the middle and the twentieth part of all runs. */
  fenceMs: z.number().nullable(),
  fenceP50Ms: z.number().nullable(),
  fenceP95Ms: z.number().nullable(),
  /** When the probes take all the time they may, and the way back too. */
  worstFenceMs: z.number(),
  error: ActionError.nullable(),
  /** Why it waits and never began. */
  waits: z.string().nullable(),
})
export type RehearsedBox = z.infer<typeof RehearsedBox>

/** What would have stopped it; the rehearsal then goes on without the boxes that failed, as an operator may. */
export const RehearsedPause = z.object({ atMs: z.number(), phase: Phase.nullable(), reason: z.string() })
export type RehearsedPause = z.infer<typeof RehearsedPause>

export const Rehearsal = z.object({
  seed: z.number().int(),
  runs: z.number().int(),
  /** The moment at which the rollout was supposed to start. */
  startedAt: Timestamp,
  manifestRevision: z.number().int(),
  ended: z.enum(['done', 'stuck']),
  updates: z.number().int(),
  refused: z.number().int(),
  skipped: z.number().int(),
  /** From start to end, pauses counted as none; the middle of all runs. */
  makespanMs: z.number(),
  /** Every box takes all the time it may. */
  worstMs: z.number(),
  phases: z.array(RehearsedPhase),
  boxes: z.array(RehearsedBox),
  pauses: z.array(RehearsedPause),
  /** What the plan found; boxes that it refuses are left out. */
  findings: z.array(Finding.extend({ tenantSlug: z.string() })),
})
export type Rehearsal = z.infer<typeof Rehearsal>

export const rehearseRollout = endpoint({
  method: 'POST',
  path: '/admin/tenant-boxes/rollouts/rehearse',
  auth: admin('operator'),
  body: RehearsalRequest,
  perAddress: 1,
  returns: Rehearsal,
  problems: ['NOT_FOUND', 'CONFLICT', 'UNAVAILABLE'],
  summary:
    'Play a staged rollout to the current manifest through on a simulated copy of the fleet in virtual time; nothing is stored or touched',
})

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
