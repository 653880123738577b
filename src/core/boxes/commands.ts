import { z } from 'zod'
import { RecoveryInput } from './archive.ts'
import {
  AddressedBox,
  AgentError,
  PrefetchTargets,
  ResolvedImage,
  RestoreResult,
  SnapshotInput,
  SnapshotTaken,
  SnapshotTier,
  UpdateResult,
  UpdateTargets,
  VersionsReport,
} from './command-parts.ts'
import { DrillResult } from './drill-result.ts'
import { FenceOrder } from './fences.ts'
import { Digest, ImageRef } from './images.ts'
import { importCommands } from './import-commands.ts'
import { ChatDomain, Service } from './names.ts'
import { ProbeResult, ProbeRule } from './probe.ts'
import { RepositoryId, RepositoryReport } from './repository-report.ts'
import { LogLine, ServiceUsage } from './services.ts'
import { UpgradeRehearsal } from './upgrade.ts'

// The commands between daemon and agent about boxes (spec 4.10). A closed set of typed values: the agent renders files from templates of its
// own package, runs nothing from a payload as a program, and no payload contains a secret.

const Port = z.number().int().min(1).max(65_535)
const Ports = z.object({ public: Port, platform: Port, probe: Port })
/** Counted from the start of the first step, on the agent's monotonic clock. */
const deadlineMs = z.number().int().min(1)

const Restarted = z.object({ report: VersionsReport, probe: ProbeResult, durationMs: z.number() })
/** A manifest names three services for each of three tiers. */
const maxImages = 50

/** Payload, result, and the secrets that the lease owner may fetch, per kind of command. */
export const boxCommands = {
  // read-only
  'tenant-box.report_versions': { payload: z.object(AddressedBox), result: z.object({ report: VersionsReport }), secrets: [] },
  'tenant-box.healthcheck': {
    payload: z.object(AddressedBox),
    result: z.object({ probe: ProbeResult, report: VersionsReport }),
    secrets: [],
  },
  'tenant-box.logs': {
    payload: z.object({
      ...AddressedBox,
      services: z.array(Service).min(1),
      lines: z.number().int().min(1).max(2_000),
      /** Only lines after this time of the engine's clock. */
      since: z.string().optional(),
    }),
    result: z.object({ lines: z.array(LogLine).max(2_000) }),
    secrets: [],
  },
  /** The containers of a box and what they use now, as the engine counts it. */
  'tenant-box.services': {
    payload: z.object(AddressedBox),
    result: z.object({ services: z.array(ServiceUsage).max(20), at: z.string() }),
    secrets: [],
  },
  /** Sends log lines as they are written, until its follower is gone. It is never stored on the host. */
  'tenant-box.follow_logs': {
    payload: z.object({
      ...AddressedBox,
      services: z.array(Service).min(1),
      /** The newest lines to begin with. */
      lines: z.number().int().min(0).max(2_000),
      /** Only lines after this time of the engine's clock. */
      since: z.string().optional(),
    }),
    result: z.object({}),
    secrets: [],
  },
  /** Resolves tags to digests as this host would pull them; pulls nothing. */
  'tenant-box.resolve_images': {
    payload: z.object({
      ...AddressedBox,
      images: z.array(ImageRef).min(1).max(maxImages),
      /** A registry that does not answer within this time counts as unavailable: a client waits for the result. */
      withinMs: z.number().int().min(1),
    }),
    result: z.object({ images: z.array(ResolvedImage).max(maxImages) }),
    secrets: ['registries'],
  },

  // set-up
  'tenant-box.provision': {
    payload: z.object({
      ...AddressedBox,
      chatDomain: ChatDomain,
      publicUrl: z.string(),
      images: z.record(Service, ImageRef),
      /** By image, as the manifest names them; other tags are pulled as their registry has them. */
      digests: z.record(ImageRef, Digest).optional(),
      ports: Ports,
      probe: ProbeRule,
      migrationsHead: z.string().optional(),
    }),
    result: z.object({ report: VersionsReport, probe: ProbeResult }),
    secrets: ['registries'],
  },
  'tenant-box.adopt': {
    payload: z.object({
      ...AddressedBox,
      folder: z.string().startsWith('/'),
      project: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/),
    }),
    result: z.object({ report: VersionsReport }),
    secrets: [],
  },
  /** Registers a box again on its own host, whose agent lost its records. Changes nothing in the box. */
  'tenant-box.adopt_again': {
    payload: z.object({
      ...AddressedBox,
      chatDomain: ChatDomain,
      managed: z.boolean(),
      ports: Ports.nullable(),
      /** Null for a box in the place of the box template. */
      folder: z.string().startsWith('/').nullable(),
      project: z
        .string()
        .regex(/^[a-z0-9][a-z0-9_-]*$/)
        .nullable(),
    }),
    result: z.object({ report: VersionsReport }),
    secrets: [],
  },

  ...importCommands,

  // updates
  'tenant-box.prefetch': {
    payload: z.object({ ...AddressedBox, targets: PrefetchTargets }),
    result: z.object({ digests: z.record(ImageRef, Digest), pulledMs: z.number() }),
    secrets: ['snapshots', 'registries'],
  },
  'tenant-box.update': {
    payload: z.object({
      ...AddressedBox,
      targets: UpdateTargets,
      probe: ProbeRule,
      fence: FenceOrder,
      deadlineMs,
    }),
    result: UpdateResult,
    secrets: ['snapshots', 'registries'],
  },

  // snapshots
  'tenant-box.snapshot': {
    payload: z.object({ ...AddressedBox, tier: SnapshotTier.extract(['daily', 'manual']) }),
    result: z.object({ snapshot: SnapshotTaken }),
    secrets: ['snapshots'],
  },
  'tenant-box.restore': {
    payload: z.object({ ...AddressedBox, ...SnapshotInput, probe: ProbeRule, deadlineMs }),
    result: RestoreResult,
    secrets: ['snapshots', 'registries'],
  },
  'tenant-box.drill': {
    payload: z.object({ ...AddressedBox, ...SnapshotInput, deadlineMs }),
    result: DrillResult,
    secrets: ['snapshots', 'registries'],
  },
  /** Makes a snapshot of an earlier moment from the archive. The box is not touched, and need not run. */
  'tenant-box.recover': {
    payload: z.object({
      ...AddressedBox,
      ...RecoveryInput,
      deadlineMs,
      /** Its snapshot is then drilled; the moment is a random one. */
      isDrill: z.boolean().optional(),
    }),
    result: z.object({ snapshot: SnapshotTaken }),
    secrets: ['snapshots', 'registries'],
  },
  /** Upgrades a copy of the database to another major version, compares it and throws it away. The box is only read. */
  'tenant-box.rehearse_upgrade': {
    payload: z.object({ ...AddressedBox, image: ImageRef, digest: Digest.optional(), deadlineMs }),
    result: UpgradeRehearsal,
    secrets: ['registries'],
  },
  /** Only for repositories on the host itself; the daemon maintains buckets with a credential that agents lack. */
  'tenant-box.tend_snapshots': {
    payload: z.object({
      ...AddressedBox,
      /** Full ids, decided by the daemon. */
      forget: z.array(z.string()).max(3_000),
      prune: z.boolean(),
      check: z.enum(['none', 'structure', 'data']),
    }),
    result: RepositoryReport,
    secrets: ['snapshots'],
  },

  // life cycle
  'tenant-box.maintenance': {
    payload: z.object({ ...AddressedBox, on: z.boolean(), reason: z.string().max(300) }),
    result: z.object({ report: VersionsReport }),
    secrets: [],
  },
  /** Stops and starts the containers, unchanged and unfenced; the box is proven healthy afterwards. */
  'tenant-box.restart': {
    payload: z.object(AddressedBox),
    result: Restarted,
    secrets: [],
  },
  /** The same for some services. A kind of its own: an agent that knows only the other one would ignore the services and restart all. */
  'tenant-box.restart_services': {
    payload: z.object({ ...AddressedBox, services: z.array(Service).min(1) }),
    result: Restarted,
    secrets: [],
  },
  /** Fences and stops the box and takes a last snapshot. It stays stopped until another host has it, it is taken back, or it is removed. */
  'tenant-box.hand_over': {
    /** `removal`: a box that is not whole is stopped too, without a last snapshot where none can be taken. */
    payload: z.object({ ...AddressedBox, deadlineMs, removal: z.boolean().optional() }),
    result: z.object({
      snapshot: SnapshotTaken.nullable(),
      noSnapshot: z.string().optional(),
      fencedAt: z.string(),
      durationMs: z.number(),
    }),
    secrets: ['snapshots'],
  },
  /** Creates the box on this host from a snapshot, under a higher epoch. `failed` leaves nothing behind. */
  'tenant-box.take_over': {
    payload: z.object({
      ...AddressedBox,
      ...SnapshotInput,
      chatDomain: ChatDomain,
      publicUrl: z.string(),
      ports: Ports,
      probe: ProbeRule,
      deadlineMs,
    }),
    result: RestoreResult.omit({ preRestore: true, fencedMs: true }),
    secrets: ['snapshots', 'registries'],
  },
  /** Reverts a hand-over: the box runs here again, under a higher epoch. */
  'tenant-box.take_back': {
    payload: z.object({ ...AddressedBox, probe: ProbeRule }),
    /** `error`: it runs and is verified, but remains fenced. */
    result: z.object({ report: VersionsReport, probe: ProbeResult, error: AgentError.nullable().optional() }),
    secrets: [],
  },
  /** Deletes containers, volumes, folder and records. Refused while the box runs unfenced. */
  'tenant-box.remove': {
    payload: z.object(AddressedBox),
    result: z.object({ removed: z.array(z.string()) }),
    secrets: [],
  },
} as const

export type BoxCommandKind = keyof typeof boxCommands

export type BoxCommandPayload<Kind extends BoxCommandKind> = z.output<(typeof boxCommands)[Kind]['payload']>
export type BoxCommandResult<Kind extends BoxCommandKind> = z.output<(typeof boxCommands)[Kind]['result']>

/**
 * Facts that the host creates once: credentials at provisioning, which the daemon seals to call the box, and the id of the box's snapshot
 * repository at its first use.
 */
export const CommandOutputs = z
  .object({
    edgeSecret: z.string(),
    appserviceToken: z.string(),
    registrationSharedSecret: z.string(),
    snapshotRepositoryId: RepositoryId,
  })
  .partial()
export type CommandOutputs = z.infer<typeof CommandOutputs>
