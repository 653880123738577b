import { z } from 'zod'
import { plural } from '../kit/index.ts'
import { SnapshotMode } from './fences.ts'

// Whether the database of a box can be copied while it serves: by the settings of its PostgreSQL and by the space on its disk.

/** PostgreSQL's settings and state that decide about a hot copy. */
export const HotCopyFacts = z.object({
  /** 15 of 15.18. */
  major: z.number().int(),
  walLevel: z.string().max(20),
  freeSlots: z.number().int(),
  fullPageWrites: z.boolean(),
  isStandby: z.boolean(),
  /** The role that the agent makes backups with is a superuser. */
  isSuperuser: z.boolean(),
  /** Pages that did not match their checksum since the counter was reset. */
  checksumFailures: z.number().int().min(0),
  tablespaces: z.number().int().min(0),
})
export type HotCopyFacts = z.infer<typeof HotCopyFacts>

/** SQL whose value is `HotCopyFacts` as JSON; `role` is an SQL expression. */
export const hotCopySql = (role: string): string => `json_build_object(
    'major', current_setting('server_version_num')::int / 10000,
    'walLevel', current_setting('wal_level'),
    'freeSlots', current_setting('max_replication_slots')::int - (select count(*) from pg_replication_slots),
    'fullPageWrites', current_setting('full_page_writes')::boolean,
    'isStandby', pg_is_in_recovery(),
    'isSuperuser', coalesce((select rolsuper from pg_roles where rolname = ${role}), false),
    'checksumFailures', (select coalesce(sum((to_jsonb(d)->>'checksum_failures')::bigint), 0) from pg_stat_database d),
    'tablespaces', (select count(*) from pg_tablespace where spcname not in ('pg_default', 'pg_global'))
  )`

/** The oldest PostgreSQL with the backup functions that the agent calls. */
const oldestMajor = 15

/** `facts` are unknown for older agents and for a database that is down; space is in bytes. */
export type HotCopyInput = Readonly<{
  facts: HotCopyFacts | null | undefined
  databaseBytes: number | null
  freeDiskBytes: number | null
}>

/** Why the database cannot be copied while it serves; undefined if it can. */
export function whyNoHotCopy({ facts, databaseBytes, freeDiskBytes }: HotCopyInput): string | undefined {
  if (!facts) return 'its agent did not report what a hot copy needs'
  if (facts.major < oldestMajor) return `PostgreSQL ${facts.major} has other backup functions (a hot copy needs ${oldestMajor} or newer)`
  if (facts.isStandby) return 'its PostgreSQL is a standby'
  if (facts.walLevel === 'minimal') return 'wal_level of PostgreSQL is minimal (a hot copy needs replica or logical)'
  if (facts.freeSlots < 1) return 'PostgreSQL has no free replication slot (max_replication_slots)'
  if (!facts.fullPageWrites) return 'full_page_writes of PostgreSQL is off'
  if (!facts.isSuperuser) return 'the agent has no superuser of PostgreSQL (POSTGRES_USER of its container)'
  if (facts.checksumFailures > 0)
    return `PostgreSQL found ${plural(facts.checksumFailures, 'damaged page')} (checksum_failures of pg_stat_database)`
  if (facts.tablespaces > 0) return `PostgreSQL has ${plural(facts.tablespaces, 'tablespace')} outside its data folder`
  // A later load of the dump must still have space.
  if (databaseBytes !== null && freeDiskBytes !== null && freeDiskBytes < 2 * databaseBytes)
    return 'its disk has no room for a copy of the database'
  return undefined
}

/** How an update copies the database, and why it is not `hot` where that was requested. */
export const SnapshotChoice = z.object({ mode: SnapshotMode, reason: z.string().optional() })
export type SnapshotChoice = z.infer<typeof SnapshotChoice>

/** The snapshot is stored before the new version starts where the database cannot be copied while it serves. */
export function chooseSnapshot(requested: SnapshotMode, input: HotCopyInput): SnapshotChoice {
  const reason = requested === 'hot' ? whyNoHotCopy(input) : undefined
  return reason === undefined ? { mode: requested } : { mode: 'before', reason }
}
