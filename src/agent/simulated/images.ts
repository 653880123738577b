import semver from 'semver'
import { parseImage } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'

/** An image of the simulated registry. Tags with `alpine` have the other C library. `schema` is what a Synapse writes, `compat` the oldest schema that may still read it. */
export type SimulatedImage = Readonly<{
  ref: string
  version: string
  digest: string
  schema: number
  compat: number
  libc: 'glibc' | 'musl'
}>

/** Differs from what the tag says by itself. */
export type ImageOverrides = Readonly<Record<string, Partial<Omit<SimulatedImage, 'ref'>>>>

/** Every tag exists in the simulated registry, with a digest made from its name, unless a fault says otherwise. */
export function simulatedImage(ref: string, overrides: ImageOverrides = {}): SimulatedImage {
  const version = versionInTag(parseImage(ref).tag)
  return {
    ref,
    version,
    digest: `sha256:${sha256Hex(ref)}`,
    ...schemaOf(version),
    libc: /alpine/.test(ref) ? 'musl' : 'glibc',
    ...overrides[ref],
  }
}

// As the server itself would say it: `v1.163.2-broken` is 1.163.2, and a MinIO tag is its own version.
const versionInTag = (tag: string): string => /^v?(\d+(?:\.\d+)+)/.exec(tag)?.[1] ?? tag

// The true history in short: 1.98 and 1.105 raised the oldest schema that may read the database.
function schemaOf(version: string): { schema: number; compat: number } {
  const minor = semver.coerce(version)?.minor ?? 163
  if (minor < 98) return { schema: 83, compat: 80 }
  if (minor < 105) return { schema: 84, compat: 83 }
  return { schema: 84 + Math.min(10, Math.floor((minor - 105) / 5)), compat: 84 }
}
