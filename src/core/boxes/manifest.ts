import { z } from 'zod'
import { admin, type Contract, CounterText, endpoint, fieldReasons, Paging, Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { Digest, ImagePattern, ImageRef, imageOf } from './images.ts'
import { ManifestGates } from './manifest-gates.ts'
import { Tier, VersionedService } from './names.ts'

/** YAML reads 15.18 without quotes as a number, and 17.10 as 17.1. */
const inQuotes = (issue: { input?: unknown }) =>
  typeof issue.input === 'number' ? 'must be text: write it in quotes, such as "15.18"' : undefined

const Version = z
  .string({ error: inQuotes })
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be a version such as 1.163.2')
  .refine((version) => version !== 'latest', 'must name a version: "latest" is not one')

/** The versions that boxes of one tier should run. */
export const TierVersions = z.strictObject({
  migrationsHead: z.string({ error: inQuotes }).regex(/^[0-9]{4}$/, 'must be four digits, such as 0000'),
  postgres: Version,
  synapse: Version,
  minio: Version,
})
export type TierVersions = z.infer<typeof TierVersions>

/** The canonical manifest (spec 9.5): image reference per service, versions per tier. Rollouts apply nothing else. */
export const Manifest = z.strictObject({
  images: z.strictObject({ edge: ImageRef, synapse: ImagePattern, postgres: ImagePattern, minio: ImagePattern }),
  tiers: z.strictObject({ free: TierVersions, pro: TierVersions, enterprise: TierVersions }),
  /** Digest by image with tag: what rollouts pull, whatever the tag points to. Entries of other images are ignored. */
  digests: z.record(ImageRef, Digest).optional(),
  /** Questions of staged rollouts to Prometheus before each next phase. */
  gates: ManifestGates.optional(),
})
export type Manifest = z.infer<typeof Manifest>

/** Reads a manifest from parsed YAML or JSON. Throws MANIFEST_INVALID with every invalid field. */
export function parseManifest(value: unknown): Manifest {
  const result = Manifest.safeParse(value)
  if (result.success) return result.data
  const details = fieldReasons(result.error)
  throw problem('MANIFEST_INVALID', `the manifest was not applied: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, {
    details,
  })
}

/** The image of a service for boxes of the tier. */
export const targetImage = (manifest: Manifest, tier: Tier, service: VersionedService): string =>
  imageOf(manifest.images[service], manifest.tiers[tier][service])

/** Every image that the manifest names, once, sorted. */
export const imagesOfManifest = (manifest: Manifest): string[] => {
  const services = VersionedService.options.flatMap((service) => Tier.options.map((tier) => targetImage(manifest, tier, service)))
  return [...new Set([manifest.images.edge, ...services])].sort()
}

/** The digests that the manifest names, of these images. */
export const digestsFor = ({ digests = {} }: Manifest, images: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(digests).filter(([image]) => images.includes(image)))

const manifestBase = '/api/admin/v1/manifest'

const ManifestBody = z.strictObject({ manifest: z.unknown().meta({ description: 'A manifest; see GET for its schema' }) })

/** An applied manifest. */
export const ManifestRevision = z.object({
  revision: z.number().int(),
  manifest: Manifest,
  appliedAt: Timestamp,
  appliedBy: z.string(),
})
export type ManifestRevision = z.infer<typeof ManifestRevision>

/** One value that differs; null where a side has none. */
export const ManifestChange = z.object({ path: z.string(), from: z.string().nullable(), to: z.string().nullable() })
export type ManifestChange = z.infer<typeof ManifestChange>

/** Endpoints of the manifest. */
export const manifestContract = {
  showManifest: endpoint({
    method: 'GET',
    path: manifestBase,
    auth: admin('viewer'),
    returns: ManifestRevision,
    problems: ['NOT_FOUND'],
    summary: 'Show the current manifest',
    spec: '9',
  }),
  diffManifest: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${manifestBase}/diff`,
    auth: admin('viewer'),
    body: ManifestBody,
    returns: z.object({ revision: z.number().int(), changes: z.array(ManifestChange) }),
    problems: ['MANIFEST_INVALID'],
    summary: 'Preview the changes of a manifest (read-only)',
  }),
  applyManifest: endpoint({
    method: 'POST',
    audit: 'manifest.applied',
    path: manifestBase,
    auth: admin('operator'),
    body: ManifestBody,
    returns: z.object({ revision: z.number().int(), changed: z.boolean(), changes: z.array(ManifestChange) }),
    problems: ['MANIFEST_INVALID', 'CONFLICT'],
    summary: 'Apply a manifest; the same content keeps its revision',
    spec: '9',
  }),
  listManifestRevisions: endpoint({
    method: 'GET',
    path: `${manifestBase}/revisions`,
    auth: admin('viewer'),
    query: Paging.extend({ cursor: CounterText.optional() }),
    returns: z.object({ revisions: z.array(ManifestRevision), nextCursor: z.string().nullable() }),
    summary: 'List applied manifests, newest first',
  }),
} as const satisfies Contract
