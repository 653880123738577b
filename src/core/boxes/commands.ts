import { z } from 'zod'
import { Digest, ImageRef } from './images.ts'
import { ChatDomain, Service, Slug, VersionedService } from './names.ts'
import { ProbeResult, ProbeRule } from './probe.ts'

// What daemon and agent say to each other about boxes (spec 4.10). A closed set of typed values: files are rendered by the agent
// from templates of its own package, nothing here is ever run as a program, and no payload carries a secret.

const Port = z.number().int().min(1).max(65_535)

/** Installed versions per component; `unknown` where it could not be found out. */
export const InstalledVersions = z.object({ migrationsHead: z.string(), postgres: z.string(), synapse: z.string(), minio: z.string() })
export type InstalledVersions = z.infer<typeof InstalledVersions>

const RunningService = z.object({
  image: z.string(),
  /** The registry digest of the running image; null for an image that was never in a registry. */
  digest: Digest.nullable(),
  state: z.enum(['running', 'restarting', 'exited', 'missing']),
  restartCount: z.number().int(),
})

/** What RUNS in a box, never what its file says (SAFETY). */
export const VersionsReport = z.object({
  slug: z.string(),
  at: z.string(),
  installed: InstalledVersions,
  services: z.record(Service, RunningService.optional()),
  fenced: z.boolean(),
  ownershipEpoch: z.number().int(),
  managed: z.boolean(),
  /** Size of the database, where the host can tell; canaries are chosen by it. */
  databaseBytes: z.number().min(0).optional(),
})
export type VersionsReport = z.infer<typeof VersionsReport>

const AgentError = z.object({ code: z.string(), message: z.string() })
export type AgentError = z.infer<typeof AgentError>

/** Where a step of a command stands; the daemon shows it and never decides by it. */
export const Progress = z.object({
  step: z.string().max(60),
  detail: z.string().max(500).optional(),
  percent: z.number().min(0).max(100).optional(),
  at: z.string(),
})
export type Progress = z.infer<typeof Progress>

const Box = { slug: Slug, boxId: z.string(), ownershipEpoch: z.number().int().min(1) }

const targets = <Image extends z.ZodType>(image: Image) =>
  z.object({
    /** Only services that change. */
    services: z.partialRecord(VersionedService, image),
    migrationsHead: z.string(),
  })
/** The digest may be absent: a prefetch finds it out. */
const PrefetchTargets = targets(z.object({ image: ImageRef, digest: Digest.optional() }))
/** An update runs exactly what was pinned: a tag alone could have moved since. */
export const UpdateTargets = targets(z.object({ image: ImageRef, digest: Digest }))
export type UpdateTargets = z.infer<typeof UpdateTargets>

/** The steps of the guarded update in their order; the last four only on the way back. */
export const UpdateStep = z.enum([
  'prefetch',
  'fence',
  'stop',
  'snapshot',
  'rewrite',
  'recreate',
  'probe',
  'commit',
  'unfence',
  'restore-stop',
  'restore-data',
  'restore-start',
  'restore-probe',
])
export type UpdateStep = z.infer<typeof UpdateStep>

/** `rollback_failed` rests fenced and stopped, with both volume sets, until an operator decides. */
export const UpdateOutcome = z.enum(['committed', 'failed', 'rolled_back', 'rollback_failed'])
export type UpdateOutcome = z.infer<typeof UpdateOutcome>

/** What an update leaves as proof. `failed` = no container was replaced and no data touched; what had been stopped runs again. */
export const UpdateResult = z.object({
  outcome: UpdateOutcome,
  snapshotOk: z.boolean(),
  updateOk: z.boolean(),
  healthOk: z.boolean(),
  rolledBack: z.boolean(),
  snapshotId: z.string().nullable(),
  snapshotSha256: z.string().nullable(),
  durationMs: z.number(),
  fencedMs: z.number(),
  digestsBefore: z.record(z.string(), z.string().nullable()),
  digestsAfter: z.record(z.string(), z.string().nullable()),
  probes: z.array(ProbeResult),
  composeBackup: z.string().nullable(),
  report: VersionsReport.nullable(),
  error: AgentError.nullable(),
})
export type UpdateResult = z.infer<typeof UpdateResult>

/** Payload, result, and which secrets the holder may fetch, per kind of command. */
export const boxCommands = {
  'tenant-box.report_versions': { payload: z.object(Box), result: z.object({ report: VersionsReport }), secrets: [] },
  'tenant-box.healthcheck': { payload: z.object(Box), result: z.object({ probe: ProbeResult, report: VersionsReport }), secrets: [] },
  'tenant-box.provision': {
    payload: z.object({
      ...Box,
      chatDomain: ChatDomain,
      publicUrl: z.string(),
      images: z.record(Service, ImageRef),
      ports: z.object({ public: Port, platform: Port, probe: Port }),
      probe: ProbeRule,
    }),
    result: z.object({ report: VersionsReport, probe: ProbeResult }),
    secrets: [],
  },
  'tenant-box.adopt': {
    payload: z.object({ ...Box, folder: z.string().startsWith('/'), project: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/) }),
    result: z.object({ report: VersionsReport, findings: z.array(z.string()) }),
    secrets: [],
  },
  'tenant-box.prefetch': {
    payload: z.object({ ...Box, targets: PrefetchTargets }),
    result: z.object({ digests: z.record(ImageRef, Digest), pulledMs: z.number() }),
    secrets: ['snapshots'],
  },
  'tenant-box.update': {
    payload: z.object({
      ...Box,
      targets: UpdateTargets,
      probe: ProbeRule,
      fence: z.object({ mode: z.enum(['until-stable']) }),
      /** From the start of the first step, on the agent's monotonic clock. */
      deadlineMs: z.number().int().min(1),
    }),
    result: UpdateResult,
    secrets: ['snapshots'],
  },
} as const

export type BoxCommandKind = keyof typeof boxCommands
export type BoxCommandPayload<Kind extends BoxCommandKind> = z.output<(typeof boxCommands)[Kind]['payload']>
export type BoxCommandResult<Kind extends BoxCommandKind> = z.output<(typeof boxCommands)[Kind]['result']>

/** Fetched per command by the holder of its lease, kept in memory only (SECURITY, Agents). */
export const CommandSecrets = z.object({
  /** Where restic keeps this tenant's repository, and what opens it. `env` holds store credentials for `s3:`. */
  snapshots: z.object({ repository: z.string(), password: z.string(), env: z.record(z.string(), z.string()) }).optional(),
})
export type CommandSecrets = z.infer<typeof CommandSecrets>

/** Made on the host at provisioning and delivered once to the daemon, which seals them: what the platform needs to speak to the box. */
export const CommandOutputs = z
  .object({ edgeSecret: z.string(), appserviceToken: z.string(), registrationSharedSecret: z.string() })
  .partial()
export type CommandOutputs = z.infer<typeof CommandOutputs>
