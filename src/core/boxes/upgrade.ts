import { z } from 'zod'
import { AgentError } from './command-parts.ts'
import { Digest, ImageRef, parseImage } from './images.ts'

// The rehearsal of an upgrade to another major version of PostgreSQL, on a copy beside the box.

export const UpgradeFindingCode = z.enum([
  'NOT_NEWER',
  'DATA_MAJOR',
  'NO_HOT_COPY',
  'INVALID_INDEXES',
  'EXTENSION_MISSING',
  'COLLATION_UNKNOWN',
  'COLLATION_VERSION',
  'LARGE_OBJECTS',
  'PREPARED_TRANSACTIONS',
  'LOGICAL_SLOTS',
  'ROLE_SETTINGS',
  'SERVER_SETTINGS',
  'OTHER_DATABASES',
  'CONTENT_DIFFERS',
])
export type UpgradeFindingCode = z.infer<typeof UpgradeFindingCode>

/** `refuse`: do not upgrade before it is fixed. */
export const UpgradeFinding = z.object({
  severity: z.enum(['refuse', 'warn']),
  code: UpgradeFindingCode,
  message: z.string().max(2_000),
})
export type UpgradeFinding = z.infer<typeof UpgradeFinding>

const Ms = z.number().min(0).optional()

/** The durations of a rehearsal; a part that was not reached is absent. */
export const UpgradeTimes = z.object({
  /** While the box serves, at a limited speed. */
  copyMs: Ms,
  /** Start of the former server on the copy. */
  recoverMs: Ms,
  dumpMs: Ms,
  loadMs: Ms,
  analyzeMs: Ms,
  compareMs: Ms,
})
export type UpgradeTimes = z.infer<typeof UpgradeTimes>

const Bytes = z.number().min(0).nullable()

/** The box itself is only read: every finding is a result. */
export const UpgradeRehearsal = z.object({
  /** The loaded database is complete, and nothing speaks against an upgrade. */
  ok: z.boolean(),
  way: z.enum(['dump-load']),
  image: ImageRef,
  digest: Digest.nullable(),
  /** Versions of PostgreSQL; null where the rehearsal ended before it was known. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  databaseBytes: Bytes,
  dumpBytes: Bytes,
  /** Size of the database in the new version. */
  loadedBytes: Bytes,
  tables: z.number().int().nullable(),
  rows: z.number().nullable(),
  times: UpgradeTimes,
  /** The downtime of an upgrade by hand: dump, load, ANALYZE and comparison, without the stop and the start of the containers. */
  downtimeMs: z.number().nullable(),
  findings: z.array(UpgradeFinding).max(100),
  durationMs: z.number(),
  error: AgentError.nullable(),
})
export type UpgradeRehearsal = z.infer<typeof UpgradeRehearsal>

/** The image that an `UpgradeImage` names: a major version is a tag of the repository of the present image. */
export const upgradeImage = (target: string, present: string): string =>
  target.includes(':') ? target : `${parseImage(present).repository}:${target}`
