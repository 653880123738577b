import { z } from 'zod'
import { problem, sha256Hex } from '../kit/index.ts'
import type { Manifest } from './manifest.ts'
import { Tier } from './names.ts'

// The platform's own tables in each box's database, created by numbered SQL files (spec 4.10). Invariants: heads are 0001, 0002, … without a
// gap; an applied file never changes; files only add, so that earlier programs keep running; only a restore returns to an earlier head.

/** Number of the last migration; `0000` before the first. */
const MigrationsHead = z.string().regex(/^[0-9]{4}$/, 'must be four digits, such as 0000')
export const noMigrations = '0000'

const Sum = z.string().regex(/^[0-9a-f]{64}$/)

/** One file of `config/box-migrations`, as agents get it. `sha256` is of its text. */
export const BoxMigration = z.object({ head: MigrationsHead, name: z.string().max(100), sha256: Sum, sql: z.string().max(100_000) })
export type BoxMigration = z.infer<typeof BoxMigration>

/** A migration recorded in a box's database. */
export const AppliedMigration = z.object({ head: MigrationsHead, sha256: Sum })
export type AppliedMigration = z.infer<typeof AppliedMigration>

/** Reads the folder's files in order. Throws CONFIG_INVALID for a bad name, a gap, or SQL that is not allowed. */
export function readBoxMigrations(files: readonly Readonly<{ file: string; text: string }>[]): BoxMigration[] {
  const migrations = files.map(({ file, text }) => readMigration(file, text)).sort((a, b) => (a.head < b.head ? -1 : 1))
  for (const [at, { head, name }] of migrations.entries())
    if (head !== headAt(at)) throw invalid(`${head}-${name}.sql is out of sequence: expected ${headAt(at)}`)
  return migrations
}

const headAt = (index: number): string => String(index + 1).padStart(4, '0')

const invalid = (what: string) => problem('CONFIG_INVALID', `box migrations: ${what}`)

function readMigration(file: string, sql: string): BoxMigration {
  const [, head, name] = /^([0-9]{4})-([a-z0-9]+(?:-[a-z0-9]+)*)\.sql$/.exec(file) ?? []
  if (head === undefined || name === undefined) throw invalid(`${file} must be named as in 0001-a-name.sql`)
  const wrong = rejectionOf(sql)
  if (wrong !== undefined) throw invalid(`${file} ${wrong}`)
  return BoxMigration.parse({ head, name, sha256: sha256Hex(sql), sql })
}

/**
 * Why daemon and agent refuse to run this SQL; undefined when it is allowed. psql reads a backslash as a command of its own, and each file runs in one
 * transaction with its record.
 */
function rejectionOf(sql: string): string | undefined {
  const statements = sql.replaceAll(/--.*$/gm, '')
  if (statements.trim() === '') return 'is empty'
  if (sql.includes('\\')) return 'contains a backslash, which psql reads as a command'
  if (
    /(^|;)\s*(begin|commit|rollback|abort|end|start\s+transaction|prepare\s+transaction)\b(\s+(work|transaction))?\s*;/im.test(statements)
  )
    return 'begins or ends a transaction; the agent runs each file in one'
  const takes = /\b(drop|truncate|delete\s+from|rename|alter\s+column|revoke)\b/i.exec(statements)?.[1]
  return takes === undefined ? undefined : `contains ${takes.toLowerCase()}; box migrations may only add`
}

/** Checks migrations received from the daemon: order, checksums and allowed SQL. Throws MANIFEST_INVALID. */
export function assertValidMigrations(migrations: readonly BoxMigration[]): void {
  for (const [at, { head, name, sha256, sql }] of migrations.entries()) {
    const wrong = head !== headAt(at) ? 'is out of order' : sha256Hex(sql) !== sha256 ? 'does not match its checksum' : rejectionOf(sql)
    if (wrong !== undefined) throw problem('MANIFEST_INVALID', `box migration ${head}-${name} ${wrong}; it was not run`)
  }
}

type MigrationPlan = Readonly<{ toApply: readonly BoxMigration[] } | { problem: string }>

/** The migrations that bring a box to the wanted head, or why none may run. */
export function planMigrations(known: readonly BoxMigration[], applied: readonly AppliedMigration[], requested: string): MigrationPlan {
  const strange = divergenceOf(known, applied)
  if (strange !== undefined) return { problem: strange }
  const head = headOf(applied)
  if (requested < head)
    return {
      problem: `the box is at migrations head ${head}, and ${requested} is older: migrations cannot be reverted. fix: restore a snapshot`,
    }
  if (requested !== noMigrations && !known.some((migration) => migration.head === requested))
    return {
      problem: `box migration ${requested} does not exist (newest: ${headOf(known)}). fix: upgrade tenantryd, or correct the manifest`,
    }
  return { toApply: known.filter((migration) => migration.head > head && migration.head <= requested) }
}

/** The last head; `0000` without migrations. */
export const headOf = (migrations: readonly Readonly<{ head: string }>[]): string =>
  migrations.reduce((last, { head }) => (head > last ? head : last), noMigrations)

function divergenceOf(known: readonly BoxMigration[], applied: readonly AppliedMigration[]): string | undefined {
  const inOrder = [...applied].sort((a, b) => (a.head < b.head ? -1 : 1))
  for (const [at, { head, sha256 }] of inOrder.entries()) {
    if (head !== headAt(at))
      return `the box has migration ${head} where ${headAt(at)} is expected: tenantry.box_migrations was changed by hand`
    const ours = known.find((migration) => migration.head === head)
    if (!ours) return `the box has migration ${head}, which this daemon does not know. fix: upgrade tenantryd`
    if (ours.sha256 !== sha256)
      return `migration ${head}-${ours.name} was applied with other SQL: its file was changed afterwards. fix: put the former text back`
  }
  return undefined
}

/** Throws MANIFEST_INVALID for a manifest that names a head without a migration file. */
export function assertKnownHeads({ tiers }: Manifest, known: readonly BoxMigration[]): void {
  const last = headOf(known)
  const details = Tier.options
    .filter((tier) => tiers[tier].migrationsHead > last)
    .map((tier) => ({
      path: `tiers.${tier}.migrationsHead`,
      reason: `is ${tiers[tier].migrationsHead}, but the newest box migration is ${last}`,
    }))
  if (details.length === 0) return
  throw problem('MANIFEST_INVALID', `the manifest was not applied: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, {
    details,
  })
}
