import semver from 'semver'
import { z } from 'zod'
import { fieldReasons } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { isOlder } from './drift.ts'

const Version = z.string().regex(/^[0-9]+\.[0-9]+\.[0-9]+$/, 'must be a version such as 1.163.2')

/** The database effects and requirements of one range of Synapse versions. */
export const SynapseSchema = z.strictObject({
  from: Version,
  /** The schema version it migrates a database to. */
  schema: z.number().int(),
  /** The compat version it records: a program with a lower schema version refuses to start on the database. */
  compat: z.number().int(),
  /** The minimum PostgreSQL major version. */
  postgres: z.number().int(),
  /** The oldest Synapse in the table that still starts on its database. */
  oldestThatStarts: Version,
})
export type SynapseSchema = z.infer<typeof SynapseSchema>

const UpdateName = z.string().regex(/^[a-z0-9_]{1,100}$/, 'must be a name such as events_received_ts_index')

const Release = z.string().regex(/^RELEASE\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/, 'must be a release such as RELEASE.2025-09-07T16-13-09Z')

/** `config/synapse-schema.yaml`, ascending. Versions above `knownUpTo` are unknown. */
export const SynapseSchemas = z.strictObject({
  knownUpTo: Version,
  versions: z.array(SynapseSchema).min(1),
  /** MinIO releases of which the oldest served all objects after the newest had opened and written the volume. */
  objectStores: z.array(z.strictObject({ from: Release, to: Release })).optional(),
  /** Background updates that may be pending while an older chat server serves the database: it loses nothing. */
  harmlessUpdates: z.array(UpdateName).optional(),
})
export type SynapseSchemas = z.infer<typeof SynapseSchemas>

/** Throws CONFIG_INVALID for an invalid or unordered table. */
export function parseSynapseSchemas(value: unknown): SynapseSchemas {
  const result = SynapseSchemas.safeParse(value)
  const reasons = result.success ? disorder(result.data) : fieldReasons(result.error).map(({ path, reason }) => `${path} ${reason}`)
  if (result.success && reasons.length === 0) return result.data
  throw problem('CONFIG_INVALID', `Synapse compatibility table: ${reasons.join('; ')}`)
}

const disorder = ({ knownUpTo, versions }: SynapseSchemas): string[] =>
  [...versions.map(({ from }) => from), knownUpTo].flatMap((version, at, all) => {
    const before = all[at - 1]
    return before === undefined || semver.lt(before, version) ? [] : [`${version} is listed after ${before}`]
  })

/** True where the older release is known to serve objects that the newer one has opened. */
export const canObjectStoreReturn = ({ objectStores = [] }: SynapseSchemas, older: string, newer: string): boolean =>
  !isOlder('minio', newer, older) && objectStores.some(({ from, to }) => !isOlder('minio', older, from) && !isOlder('minio', to, newer))

/** The entry of a version; undefined when it is older or newer than the table, or unreadable. */
export function synapseSchemaOf({ knownUpTo, versions }: SynapseSchemas, version: string): SynapseSchema | undefined {
  // A release candidate counts as its release.
  const parsed = semver.coerce(version)
  if (!parsed || semver.gt(parsed, knownUpTo)) return undefined
  return versions.findLast(({ from }) => semver.gte(parsed, from))
}
