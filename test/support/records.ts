import type { BoxDetail, BoxMove, BoxRow } from '../../src/core/boxes/index.ts'
import type { CommandView, HostView } from '../../src/core/hosts/index.ts'
import type {
  PlannedBox,
  Rollout,
  RolloutAction,
  RolloutDetail,
  RolloutEvent,
  RolloutPlan,
  RolloutReport,
} from '../../src/core/rollouts/index.ts'

// Records as returned by the API, complete and plausible; a test sets only the fields it is about.

export const at = (clock: string) => `2026-01-05T${clock}.000Z`
const before = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const after = { ...before, synapse: '1.163.2' }

export const aHost = (given: Partial<HostView> = {}): HostView => ({
  id: 'host_0123456789abcdefghjk',
  name: 'host-1',
  status: 'online',
  enrolledAt: at('01:00:00'),
  lastSeenAt: at('01:59:50'),
  agentVersion: '0.1.0',
  protocolVersion: 1,
  engine: { engine: '29.1.0', compose: '2.40.0', restic: '0.18.0' },
  resources: { cpus: 8, memoryBytes: 32 * 2 ** 30, diskBytes: 500 * 2 ** 30, freeDiskBytes: 320 * 2 ** 30 },
  resourcesAt: null,
  diskLow: false,
  clockOffsetMs: null,
  skewed: false,
  keySince: '2026-01-01T00:00:00.000Z',
  reason: null,
  ...given,
})

export const aBoxRow = (given: Partial<BoxRow> = {}): BoxRow => ({
  boxId: 'box_1',
  slug: 'anna-schule',
  tenant: 'Anna-Schule',
  plan: 'light',
  tier: 'free',
  host: 'host-1',
  hostOnline: true,
  status: 'ready',
  live: true,
  managed: true,
  canary: false,
  fenced: false,
  installed: before,
  severity: 'minor',
  components: { migrationsHead: 'none', postgres: 'none', synapse: 'minor', minio: 'none' },
  last_drift_check_at: at('01:59:00'),
  reportedAt: at('01:59:00'),
  reportAgeMs: 60_000,
  freshness: 'fresh',
  heldBy: null,
  heldUntil: null,
  maintenance: null,
  fenceOverdue: false,
  health: { state: 'running', failing: [], why: null, since: null },
  moving: null,
  ...given,
})

export const aBoxDetail = (given: Partial<BoxDetail> = {}): BoxDetail => ({
  ...aBoxRow(),
  tenantId: 'tenant_1',
  hostStatus: 'online',
  chatDomain: 'chat.anna.example',
  window: null,
  publicUrl: 'https://chat.anna.example',
  import: null,
  internalUrl: null,
  ports: null,
  folder: null,
  project: null,
  ownershipEpoch: 1,
  driftReport: null,
  report: null,
  probe: null,
  findings: [],
  setUp: { commandId: 'cmd_1', attempt: 1, error: null },
  lastSnapshot: null,
  lastProvenRestore: null,
  archive: null,
  updateCopy: null,
  fence: null,
  move: null,
  removal: null,
  growth: null,
  upgradeRehearsal: null,
  openCommands: [],
  createdAt: at('01:00:00'),
  ...given,
})

export const aCommand = (given: Partial<CommandView> = {}): CommandView => ({
  id: 'cmd_1',
  hostId: 'host_1',
  hostName: 'host-1',
  hostStatus: 'online',
  boxId: 'box_1',
  kind: 'tenant-box.provision',
  status: 'succeeded',
  revision: 1,
  progress: [],
  result: null,
  error: null,
  createdAt: at('02:00:00'),
  deadlineAt: at('02:30:00'),
  startedAt: at('02:00:01'),
  finishedAt: null,
  ...given,
})

export const anAction = (tenantSlug: string, given: Partial<RolloutAction> = {}): RolloutAction => ({
  id: `act_${tenantSlug}`,
  rolloutId: rolloutId,
  tenantSlug,
  boxId: `box_${tenantSlug}`,
  hostId: 'host_1',
  phase: 'canary',
  status: 'pending',
  snapshotOk: null,
  updateOk: null,
  healthOk: null,
  rolledBack: false,
  snapshotId: null,
  from: before,
  to: after,
  findings: [],
  attempt: 0,
  progress: null,
  waitsUntil: null,
  waived: false,
  rollback: null,
  startedAt: null,
  finishedAt: null,
  durationMs: null,
  fencedMs: null,
  expectedFenceMs: 0,
  fenceMode: null,
  error: null,
  ...given,
})

export const rolloutId = 'ro_0123456789abcdefghjk'

export const aPlannedBox = (tenantSlug: string, given: Partial<PlannedBox> = {}): PlannedBox => ({
  tenantSlug,
  boxId: `box_${tenantSlug}`,
  hostId: 'host_1',
  hostName: 'host-1',
  tier: 'free',
  phase: 'canary',
  does: 'update',
  from: before,
  to: after,
  changes: ['synapse'],
  images: { synapse: { image: 'registry.example/synapse:v1.163.2', digest: null } },
  findings: [],
  expectedMs: 240_000,
  expectedFenceMs: 180_000,
  worstFenceMs: 3_600_000,
  fenceMode: 'until-proven',
  snapshotMode: 'before',
  ...given,
})

const phases = ['canary', 'free_5', 'free_100', 'pro', 'enterprise'] as const

const imagesOf = (boxes: readonly PlannedBox[]): RolloutPlan['images'] => {
  const digests = new Map(boxes.flatMap(({ images }) => Object.values(images).map(({ image, digest }) => [image, digest] as const)))
  return [...digests].map(([image, digest]) => ({ image, digest, from: digest === null ? 'first-pull' : 'fleet' }))
}

export function aPlan(boxes: readonly PlannedBox[], given: Partial<RolloutPlan> = {}): RolloutPlan {
  const moving = boxes.filter(({ does }) => does === 'update')
  return {
    kind: 'staged',
    madeAt: at('02:00:00'),
    manifestRevision: 4,
    targets: { free: after, pro: after, enterprise: after },
    targetSlugs: null,
    parallel: 3,
    phases: phases.map((phase) => ({
      phase,
      slugs: boxes.filter((box) => box.phase === phase).map(({ tenantSlug }) => tenantSlug),
      expectedMs: 240_000,
    })),
    boxes: [...boxes],
    images: imagesOf(moving),
    updates: moving.length,
    refusals: boxes.filter(({ does }) => does === 'refuse').length,
    warnings: 0,
    expectedMs: 240_000 * moving.length,
    ...given,
  }
}

export const aRollout = (given: Partial<Rollout> = {}): Rollout => ({
  id: rolloutId,
  kind: 'staged',
  status: 'canary',
  previousStatus: null,
  pauseReason: null,
  error: null,
  reason: null,
  cveId: null,
  triggeredBy: null,
  createdBy: 'admin:anna',
  manifestRevision: 4,
  targetSlugs: null,
  failureThreshold: 1,
  holdAfter: null,
  parallel: null,
  bakeMs: null,
  bakeUntil: null,
  gates: [],
  waitingUntil: null,
  queuedBehind: [],
  createdAt: at('01:59:00'),
  startedAt: at('02:00:00'),
  finishedAt: null,
  counts: {
    total: 2,
    pending: 2,
    running: 0,
    succeeded: 0,
    failed: 0,
    rolledBack: 0,
    rollbackFailed: 0,
    skipped: 0,
    cancelled: 0,
    leftOut: 0,
    rollback: null,
  },
  targets: { free: after, pro: after, enterprise: after },
  digests: {},
  skipRefused: false,
  fenceMode: 'auto',
  snapshotMode: 'auto',
  ignoreWindows: false,
  stillAsked: null,
  auditLog: [],
  ...given,
})

/** A rollout of these boxes, planned from their current state. */
export const aRolloutDetail = (actions: readonly RolloutAction[], given: Partial<RolloutDetail> = {}): RolloutDetail => ({
  ...aRollout(),
  plan: aPlan(actions.map(({ tenantSlug, phase }) => aPlannedBox(tenantSlug, { phase }))),
  actions: [...actions],
  lastEventId: '7',
  ...given,
})

export const anEvent = (given: Partial<RolloutEvent> = {}): RolloutEvent => ({
  type: 'rollout.action',
  at: at('02:00:10'),
  rolloutId,
  status: 'canary',
  previousStatus: null,
  bakeUntil: null,
  gates: null,
  reason: null,
  action: null,
  progress: null,
  ...given,
})

/** The course of a rollout of these boxes, from canary on. */
export const aReport = (actions: readonly RolloutAction[], given: Partial<RolloutReport> = {}): RolloutReport => {
  const { targets, digests, skipRefused, gates, stillAsked, auditLog, ...rollout } = aRollout()
  return {
    rollout,
    madeAt: at('02:30:00'),
    durationMs: 1_800_000,
    pausedMs: 0,
    fence: null,
    rollback: null,
    stillAsked,
    gates,
    timeline: [
      { at: at('01:59:00'), actor: 'admin:anna', action: 'rollout.created', phase: null, reason: 'weekly round' },
      { at: at('02:00:00'), actor: 'admin:anna', action: 'rollout.started', phase: 'canary', reason: null },
    ],
    phases: [
      { phase: 'canary', startedAt: at('02:00:00'), endedAt: null, durationMs: 1_800_000, pausedMs: 0, boxes: 1, succeeded: 0, failed: 0 },
    ],
    pauses: [],
    steps: [],
    boxes: [...actions],
    boxesTotal: actions.length,
    ...given,
  }
}

export const aMove = (given: Partial<BoxMove> = {}): BoxMove => ({
  moveId: 'mov_1',
  from: 'host-1',
  to: 'host-2',
  state: 'handing_over',
  oldHostIsDead: false,
  mayRunOnNewHost: false,
  epoch: 1,
  snapshotId: null,
  snapshotTakenAt: null,
  losesMs: 0,
  reason: 'full',
  by: 'admin:anna',
  commandId: 'cmd_1',
  error: null,
  startedAt: at('01:00:00'),
  changedAt: at('01:00:00'),
  keepUntil: null,
  finishedAt: null,
  ...given,
})
