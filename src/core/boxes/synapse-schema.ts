import semver from 'semver'
import { z } from 'zod'
import { fieldReasons } from '../contract/index.ts'
import { problem } from '../kit/index.ts'

const Version = z.string().regex(/^[0-9]+\.[0-9]+\.[0-9]+$/, 'must be a version such as 1.163.2')

/** What the Synapses of one range write, and what they need. */
export const SynapseSchema = z.strictObject({
  from: Version,
  /** The schema it brings a database to. */
  schema: z.number().int(),
  /** It notes this in the database: a program whose own schema is lower refuses to start there. */
  compat: z.number().int(),
  /** The least PostgreSQL major that it runs on. */
  postgres: z.number().int(),
  /** The oldest that still starts on its database, as far back as the table goes. */
  oldestThatStarts: Version,
})
export type SynapseSchema = z.infer<typeof SynapseSchema>

/** `config/synapse-schema.yaml`, ascending. Of versions beyond `knownUpTo` nothing is said. */
export const SynapseSchemas = z.strictObject({ knownUpTo: Version, versions: z.array(SynapseSchema).min(1) })
export type SynapseSchemas = z.infer<typeof SynapseSchemas>

/** Throws CONFIG_INVALID for a table that is none, or that is out of order. */
export function parseSynapseSchemas(value: unknown): SynapseSchemas {
  const result = SynapseSchemas.safeParse(value)
  const reasons = result.success ? disorder(result.data) : fieldReasons(result.error).map(({ path, reason }) => `${path} ${reason}`)
  if (result.success && reasons.length === 0) return result.data
  throw problem('CONFIG_INVALID', `the table of Synapse schemas: ${reasons.join('; ')}`)
}

const disorder = ({ knownUpTo, versions }: SynapseSchemas): string[] =>
  [...versions.map(({ from }) => from), knownUpTo].flatMap((version, at, all) => {
    const before = all[at - 1]
    return before === undefined || semver.lt(before, version) ? [] : [`${version} stands after ${before}`]
  })

/** What is known of a version; undefined of one that is older or newer than the table, or that cannot be read. */
export function synapseSchemaOf({ knownUpTo, versions }: SynapseSchemas, version: string): SynapseSchema | undefined {
  // A release candidate writes what its release does.
  const parsed = semver.coerce(version)
  if (!parsed || semver.gt(parsed, knownUpTo)) return undefined
  return versions.findLast(({ from }) => semver.gte(parsed, from))
}
