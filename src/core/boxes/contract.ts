import { z } from 'zod'
import { admin, type Contract, endpoint, pagingBy, Timestamp } from '../contract/index.ts'
import { BoxWindow } from '../windows/index.ts'
import { InstalledVersions, SnapshotTier, VersionsReport } from './command-parts.ts'
import { ComponentSeverity, DriftReport, Freshness, Severity } from './drift.ts'
import { BoxFence } from './fences.ts'
import { BoxHealth, HealthState } from './health.ts'
import { SnapshotChoice } from './hot-copy.ts'
import { BoxImport } from './import-record.ts'
import { lifecycleContract } from './lifecycle-contract.ts'
import { manifestContract, TierVersions } from './manifest.ts'
import { BoxMove, MoveState } from './move.ts'
import { BoxKey, ChatDomain, Component, Plan, Slug, Tier } from './names.ts'
import { ProbeResult } from './probe.ts'
import { BoxRemoval } from './removal.ts'
import { BoxGrowth, BoxSizes } from './sizes.ts'
import { UpgradeRehearsal } from './upgrade.ts'
import { upgradeContract } from './upgrade-contract.ts'

const base = '/api/admin/v1/boxes'

const bySlug = z.object({ slug: Slug })
const byKey = z.object({ slug: BoxKey })

/**
 * `provisioning` until the first good report; `restoring` while its snapshot is restored; `failed` may be provisioned again under the same slug;
 * `removed` can still be restored.
 */
export const BoxStatus = z.enum(['provisioning', 'ready', 'restoring', 'failed', 'removed'])
export type BoxStatus = z.infer<typeof BoxStatus>

/** A box as lists show it. */
export const BoxRow = z.object({
  boxId: z.string(),
  slug: z.string(),
  tenant: z.string().meta({ description: 'Name of the tenant' }),
  plan: Plan,
  tier: Tier,
  host: z.string().meta({ description: 'Name of the host' }),
  hostOnline: z.boolean(),
  status: BoxStatus,
  live: z.boolean(),
  managed: z.boolean(),
  canary: z.boolean(),
  fenced: z.boolean(),
  installed: InstalledVersions,
  severity: Severity,
  components: z.partialRecord(Component, ComponentSeverity).meta({ description: 'Severity per component; empty before the first check' }),
  last_drift_check_at: Timestamp.nullable(),
  reportedAt: Timestamp.nullable(),
  reportAgeMs: z.number().int().nullable(),
  freshness: Freshness,
  /** Whether its chat serves users; null for a box that is not set up or was removed. */
  health: BoxHealth.nullable(),
  /** The owner of the hold on the box, and its end; null without a hold. */
  heldBy: z.string().nullable(),
  heldUntil: Timestamp.nullable(),
  /** Set while the box is in maintenance: its edge is closed, and rollouts wait. */
  maintenance: z.object({ by: z.string(), reason: z.string(), since: Timestamp }).nullable(),
  /** Its fence has been up for longer than allowed. */
  fenceOverdue: z.boolean(),
  /** Set until the copy on the old host is deleted. */
  moving: z.object({ state: MoveState, to: z.string() }).nullable(),
})
export type BoxRow = z.infer<typeof BoxRow>

/** The newest snapshot of a box, and the last verified restore. */
export const BoxSnapshots = z.object({
  /** Null without snapshots. */
  lastSnapshot: z.object({ snapshotId: z.string(), tier: SnapshotTier, takenAt: Timestamp }).nullable(),
  /** The last successful drill, restore or move, and its duration. */
  lastProvenRestore: z.object({ at: Timestamp, durationMs: z.number().nullable(), snapshotId: z.string() }).nullable(),
  /** Null for a box without one. Times are null before its first base. */
  archive: z
    .object({
      from: Timestamp.nullable().meta({ description: 'The earliest moment that can be restored' }),
      to: Timestamp.nullable().meta({ description: 'The store has all that was committed until then' }),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
    })
    .nullable(),
})
export type BoxSnapshots = z.infer<typeof BoxSnapshots>

/** The latest rehearsal of an upgrade to another major version of PostgreSQL. */
const LatestRehearsal = UpgradeRehearsal.extend({ commandId: z.string(), at: Timestamp })

/** A command without a reported end. */
const OpenCommand = z.object({
  commandId: z.string(),
  kind: z.string(),
  /** `expired`: the daemon no longer waits, but the agent may still run it. */
  status: z.enum(['queued', 'leased', 'running', 'expired']),
  host: z.string(),
  since: Timestamp,
  deadlineAt: Timestamp,
})

/** The fleet in counts, without removed boxes. */
export const FleetSummary = z.object({
  boxes: z.number().int(),
  drift: z.record(Severity, z.number().int()),
  /** Live boxes by their health. */
  health: z.record(HealthState, z.number().int()),
  fenced: z.number().int(),
})
export type FleetSummary = z.infer<typeof FleetSummary>

export const BoxDetail = BoxRow.extend({
  tenantId: z.string(),
  hostStatus: z.enum(['online', 'offline', 'frozen', 'revoked']),
  chatDomain: z.string(),
  /** The maintenance window, with the current or next opening; null: at any time. */
  window: BoxWindow.nullable(),
  publicUrl: z.string(),
  /** The URL for the platform: the address of its host where one is set. */
  internalUrl: z.string().nullable(),
  ports: z.object({ public: z.number().int(), platform: z.number().int(), probe: z.number().int() }).nullable(),
  /** Only for adopted boxes. */
  folder: z.string().nullable(),
  project: z.string().nullable(),
  ownershipEpoch: z.number().int(),
  driftReport: DriftReport.nullable(),
  /** The agent's last report: running images and digests, fence. */
  report: VersionsReport.nullable(),
  /** The last probe that an operator or a change ordered, or the last check of the agent; its time is that of the last look. */
  probe: ProbeResult.nullable(),
  /** Reasons why an adopted box cannot be managed yet. */
  findings: z.array(z.string()),
  /** The command that provisions or adopts it, and the error of the last attempt. */
  setUp: z.object({
    commandId: z.string(),
    attempt: z.number().int(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  }),
  ...BoxSnapshots.shape,
  /** How its next update copies the database, if the rollout does not choose; null for a box that is not updated. */
  updateCopy: SnapshotChoice.nullable(),
  fence: BoxFence.nullable(),
  /** The latest move, also when it is finished. */
  move: BoxMove.nullable(),
  removal: BoxRemoval.nullable(),
  /** The latest import of a foreign stack, also when it is finished. */
  import: BoxImport.nullable(),
  /** How its data grew within 30 days; null before it has sizes of two days. */
  growth: BoxGrowth.nullable(),
  /** Null before the first rehearsal. */
  upgradeRehearsal: LatestRehearsal.nullable(),
  openCommands: z.array(OpenCommand),
  createdAt: Timestamp,
})
export type BoxDetail = z.infer<typeof BoxDetail>

const Name = z.string().trim().min(1, 'must not be empty').max(100)
const HostName = z.string().min(1).max(100).meta({ description: 'Name of an enrolled host' })

const PublicUrl = z
  .url({ protocol: /^https?$/ })
  .max(300)
  .optional()
  .meta({ description: 'URL for clients; the default is https:// and the chat domain' })

const newTenant = { slug: Slug, name: Name, plan: Plan, chatDomain: ChatDomain }

/** Versions that override the manifest's, for test beds and imported boxes. */
const VersionOverrides = TierVersions.pick({ postgres: true, synapse: true, minio: true }).partial()

export const ProvisionBody = z.strictObject({
  ...newTenant,
  host: HostName,
  publicUrl: PublicUrl,
  canary: z.boolean().default(false),
  versions: VersionOverrides.optional(),
})

export const AdoptBody = z.strictObject({
  ...newTenant,
  host: HostName,
  publicUrl: PublicUrl,
  folder: z
    .string()
    .max(300)
    .regex(/^\/[A-Za-z0-9._/-]*$/, 'must be an absolute path of letters, digits, dots, hyphens and underscores')
    .refine((folder) => !folder.split('/').includes('..'), 'must not contain ..'),
  project: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be the name of a compose project'),
})

const Accepted = z.object({ box: BoxDetail, commandId: z.string() })
/** Endpoints of the box registry and the manifest. */
export const boxesContract = {
  ...lifecycleContract,
  ...manifestContract,
  ...upgradeContract,
  listBoxes: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: pagingBy(Slug).extend({
      limit: z.coerce.number().int().min(1).max(1000).default(50),
      tier: Tier.optional(),
      host: HostName.optional(),
      severity: Severity.optional(),
      slug: z.string().max(40).optional().meta({ description: 'Substring of the slug' }),
    }),
    returns: z.object({ boxes: z.array(BoxRow), nextCursor: z.string().nullable() }),
    problems: ['NOT_FOUND'],
    summary: 'List boxes by slug, with drift',
    spec: '2.10',
  }),
  countBoxes: endpoint({
    method: 'GET',
    path: '/api/admin/v1/fleet',
    auth: admin('viewer'),
    returns: FleetSummary,
    summary: 'Count boxes by drift, as lists show it, and fenced ones',
  }),
  showBox: endpoint({
    method: 'GET',
    path: `${base}/:slug`,
    auth: admin('viewer'),
    params: byKey,
    returns: BoxDetail,
    summary: 'Show a box',
    spec: '2.10',
  }),
  listBoxSizes: endpoint({
    method: 'GET',
    path: `${base}/:slug/sizes`,
    auth: admin('viewer'),
    params: byKey,
    returns: z.object({ days: z.array(BoxSizes).meta({ description: 'Oldest first; a day without a report is left out' }) }),
    summary: 'Show the sizes of a box per day, within 30 days',
  }),
  provisionBox: endpoint({
    method: 'POST',
    audit: 'box.provision',
    path: base,
    auth: admin('operator'),
    body: ProvisionBody,
    returns: Accepted,
    status: 202,
    problems: ['ALREADY_EXISTS', 'CONFLICT', 'NOT_FOUND', 'HOST_REVOKED', 'PORT_TAKEN'],
    summary: 'Provision a box on a host. After a failure, the same call retries with the same ports; once ready, it returns the box',
  }),
  adoptBox: endpoint({
    method: 'POST',
    audit: 'box.adopt',
    path: `${base}/adopt`,
    auth: admin('operator'),
    body: AdoptBody,
    returns: Accepted,
    status: 202,
    problems: ['ALREADY_EXISTS', 'CONFLICT', 'NOT_FOUND', 'HOST_REVOKED'],
    summary: 'Register an existing compose stack',
  }),
  scanBoxes: endpoint({
    method: 'POST',
    audit: 'boxes.scan',
    path: `${base}/scan`,
    auth: admin('operator'),
    body: z.strictObject({ slugs: z.array(Slug).min(1).max(10_000).optional() }),
    returns: z.object({
      commands: z.array(z.object({ slug: z.string(), commandId: z.string() })),
      unreachable: z.array(z.object({ slug: z.string(), host: z.string() })),
    }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Read the running versions from the agents and compare them with the manifest',
    spec: '4.10',
  }),
  checkBox: endpoint({
    method: 'POST',
    audit: 'box.check',
    path: `${base}/:slug/check`,
    auth: admin('operator'),
    params: bySlug,
    returns: z.object({ commandId: z.string() }),
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT'],
    summary: 'Probe a box once',
    spec: '4.10',
  }),
  changeBox: endpoint({
    method: 'PATCH',
    audit: 'box.canary',
    path: `${base}/:slug`,
    auth: admin('operator'),
    params: byKey,
    body: z.strictObject({ canary: z.boolean() }),
    returns: BoxDetail,
    summary: 'Mark or unmark a box as a canary',
  }),
} as const satisfies Contract
