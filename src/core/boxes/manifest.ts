import { z } from 'zod'
import { fieldReasons } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { ImagePattern, ImageRef, imageOf } from './images.ts'
import type { Tier, VersionedService } from './names.ts'

const Version = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be a version such as 1.163.2')
  .refine((version) => version !== 'latest', 'must name a version: "latest" is not one')

/** The versions that boxes of one tier should run. */
export const TierVersions = z.strictObject({
  migrationsHead: z.string().regex(/^[0-9]{4}$/, 'must be four digits, such as 0000'),
  postgres: Version,
  synapse: Version,
  minio: Version,
})
export type TierVersions = z.infer<typeof TierVersions>

/** The canonical manifest (spec 9.5): image reference per service, versions per tier. The only way to change what boxes should run. */
export const Manifest = z.strictObject({
  images: z.strictObject({ edge: ImageRef, synapse: ImagePattern, postgres: ImagePattern, minio: ImagePattern }),
  tiers: z.strictObject({ free: TierVersions, pro: TierVersions, enterprise: TierVersions }),
})
export type Manifest = z.infer<typeof Manifest>

/** Reads a manifest from parsed YAML or JSON; throws MANIFEST_INVALID with every field that is wrong. */
export function parseManifest(value: unknown): Manifest {
  const result = Manifest.safeParse(value)
  if (result.success) return result.data
  const details = fieldReasons(result.error)
  throw problem('MANIFEST_INVALID', `the manifest was not applied: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, {
    details,
  })
}

/** The image that a box of the tier should run for a service. */
export const targetImage = (manifest: Manifest, tier: Tier, service: VersionedService): string =>
  imageOf(manifest.images[service], manifest.tiers[tier][service])
