import { z } from 'zod'
import {
  AddressedBox,
  AgentError,
  DrillResult,
  LogLine,
  PrefetchTargets,
  RepositoryReport,
  ResolvedImage,
  RestoreResult,
  SnapshotInput,
  SnapshotTaken,
  SnapshotTier,
  UpdateResult,
  UpdateTargets,
  VersionsReport,
} from './command-parts.ts'
import { Digest, ImageRef } from './images.ts'
import { ChatDomain, Service } from './names.ts'
import { ProbeResult, ProbeRule } from './probe.ts'

// What daemon and agent say to each other about boxes (spec 4.10). A closed set of typed values: files are rendered by the agent
// from templates of its own package, nothing here is ever run as a program, and no payload carries a secret.

const Port = z.number().int().min(1).max(65_535)
const Ports = z.object({ public: Port, platform: Port, probe: Port })
/** From the start of the first step, on the agent's monotonic clock. */
const deadlineMs = z.number().int().min(1)
/** A manifest names three services for each of three tiers. */
const maxImages = 50

/** Payload, result, and which secrets the holder may fetch, per kind of command. */
export const boxCommands = {
  // questions
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
      /** Only lines after this moment of the engine's clock. */
      since: z.string().optional(),
    }),
    result: z.object({ lines: z.array(LogLine).max(2_000) }),
    secrets: [],
  },
  /** What tags are in their registries now, as this host would pull them; nothing is pulled. */
  'tenant-box.resolve_images': {
    payload: z.object({
      ...AddressedBox,
      images: z.array(ImageRef).min(1).max(maxImages),
      /** A registry that is silent for longer counts as away: the answer must come while somebody waits for it. */
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
    result: z.object({ report: VersionsReport, findings: z.array(z.string()) }),
    secrets: [],
  },
  /** Shows what an observed box lacks to be managed; with `expected`, the sum of the diff that a person saw, it does exactly that. */
  'tenant-box.complete': {
    payload: z.object({
      ...AddressedBox,
      chatDomain: ChatDomain,
      publicUrl: z.string(),
      ports: Ports,
      edgeImage: ImageRef,
      probe: ProbeRule,
      expected: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .nullable(),
    }),
    result: z.object({
      applied: z.boolean(),
      diff: z.string().max(200_000),
      diffSha256: z.string(),
      /** What still keeps it from being managed; empty once it is. */
      findings: z.array(z.string()),
      report: VersionsReport,
      probe: ProbeResult.nullable(),
    }),
    secrets: ['registries'],
  },

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
      fence: z.object({ mode: z.enum(['until-stable', 'until-first-ok', 'none']) }),
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
  /** Only where the repository lies on the host itself; otherwise the daemon does this with a credential that agents lack. */
  'tenant-box.tend_snapshots': {
    payload: z.object({
      ...AddressedBox,
      /** Full ids, decided by the daemon. */
      forget: z.array(z.string()).max(1_000),
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
  /** Fenced, stopped, a last snapshot: it stays so until another host has it, it is given back, or it is removed. */
  'tenant-box.hand_over': {
    payload: z.object({ ...AddressedBox, deadlineMs }),
    result: z.object({ snapshot: SnapshotTaken, fencedAt: z.string(), durationMs: z.number() }),
    secrets: ['snapshots'],
  },
  /** Made on this host from a snapshot, under a higher epoch. `failed` leaves nothing behind. */
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
  /** The end of a hand-over that nobody took: the box runs here again, under a higher epoch. */
  'tenant-box.take_back': {
    payload: z.object({ ...AddressedBox, probe: ProbeRule }),
    /** `error`: it runs and is proven, but rests fenced; absent in what earlier agents say. */
    result: z.object({ report: VersionsReport, probe: ProbeResult, error: AgentError.nullable().optional() }),
    secrets: [],
  },
  /** Containers, volumes, folder and records. Refused while the box runs unfenced. */
  'tenant-box.remove': {
    payload: z.object(AddressedBox),
    result: z.object({ removed: z.array(z.string()) }),
    secrets: [],
  },
} as const

export type BoxCommandKind = keyof typeof boxCommands

/**
 * What may be asked while another command of the same box is in hand: it takes no lock, writes nothing and is true at any moment.
 * A health check is none: it writes into the box, and during an update it would only tell that the box is down, as it is meant to be.
 */
export const readOnlyCommands: readonly string[] = [
  'tenant-box.report_versions',
  'tenant-box.logs',
  'tenant-box.resolve_images',
] satisfies BoxCommandKind[]

export const isReadOnly = (kind: string): boolean => readOnlyCommands.includes(kind)

/** What claims no box: neither waits for the other commands of its box nor keeps them waiting. A drill only looks at the box it is of. */
export const nonBlockingKinds: readonly string[] = [...readOnlyCommands, 'tenant-box.drill' satisfies BoxCommandKind]

export const isNonBlocking = (kind: string): boolean => nonBlockingKinds.includes(kind)

export type BoxCommandPayload<Kind extends BoxCommandKind> = z.output<(typeof boxCommands)[Kind]['payload']>
export type BoxCommandResult<Kind extends BoxCommandKind> = z.output<(typeof boxCommands)[Kind]['result']>

/** Fetched per command by the holder of its lease, kept in memory only (SECURITY, Agents). */
export const CommandSecrets = z.object({
  /** Where restic keeps this tenant's repository, and what opens it. `env` holds store credentials for `s3:`. */
  snapshots: z
    .object({
      repository: z.string(),
      password: z.string(),
      env: z.record(z.string(), z.string()),
      /** The second key slot, for the day when the backup key is lost; added when the repository is made or lacks it. */
      recoveryPassword: z.string().optional(),
    })
    .optional(),
  /** By registry host: another address to ask first, and the account at the registry itself; a mirror's own host has its own entry. */
  registries: z
    .record(z.string(), z.object({ mirror: z.string().optional(), username: z.string().optional(), password: z.string().optional() }))
    .optional(),
})
export type CommandSecrets = z.infer<typeof CommandSecrets>

/** Made on the host at provisioning and delivered once to the daemon, which seals them: what the platform needs to speak to the box. */
export const CommandOutputs = z
  .object({ edgeSecret: z.string(), appserviceToken: z.string(), registrationSharedSecret: z.string() })
  .partial()
export type CommandOutputs = z.infer<typeof CommandOutputs>
