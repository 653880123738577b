import { z } from 'zod'
import { plural } from '../kit/index.ts'
import { type HotCopyFacts, whyNoHotCopy } from './hot-copy.ts'
import type { UpgradeFinding, UpgradeFindingCode } from './upgrade.ts'

// Reasons against the upgrade of a database to another major version, and the comparison of a loaded database with the former one.

/** A collation: its locale by the provider of PostgreSQL (`c` libc, `i` ICU, `b` built in), and the version of that library where it has one. */
const Collation = z.object({ provider: z.string(), locale: z.string(), version: z.string().nullable() })
type Collation = z.infer<typeof Collation>

/** Facts about a database that runs. */
export const UpgradeFacts = z.object({
  major: z.number().int(),
  version: z.string(),
  bytes: z.number(),
  superuser: z.string(),
  invalidIndexes: z.array(z.string()),
  extensions: z.array(z.string()),
  /** Those of the database and of the columns and indexes of its tables. */
  collations: z.array(Collation),
  largeObjects: z.number(),
  preparedTransactions: z.number(),
  logicalSlots: z.array(z.string()),
  roleSettings: z.array(z.string()),
  otherDatabases: z.array(z.string()),
})
export type UpgradeFacts = z.infer<typeof UpgradeFacts>

/** A fresh cluster of the new version. */
export const UpgradeTarget = z.object({
  major: z.number().int(),
  version: z.string(),
  /** Those that can be created. */
  extensions: z.array(z.string()),
  collations: z.array(Collation),
})
export type UpgradeTarget = z.infer<typeof UpgradeTarget>

const refusal = (code: UpgradeFindingCode, message: string): UpgradeFinding => ({
  severity: 'refuse',
  code,
  message: message.slice(0, 2_000),
})

/** The first names, so that a message stays short. */
const listed = (names: readonly string[]): string =>
  names.length <= shown ? names.join(', ') : `${names.slice(0, shown).join(', ')} and ${names.length - shown} more`
const shown = 10

/** Files of another major version than the image runs; such a server does not start. */
export const dataMajorFinding = (slug: string, { files, image }: Readonly<{ files: string; image: string }>): UpgradeFinding =>
  refusal(
    'DATA_MAJOR',
    `the data folder of ${slug} is of PostgreSQL ${files}, and its image is ${image}. fix: set an image of PostgreSQL ${files} in its compose file and start it, then rehearse again`,
  )

/** Facts of the running database from other sources. */
type Beside = Readonly<{ hotCopy: HotCopyFacts | null; freeDiskBytes: number | null; alteredSettings: readonly string[] }>

/** Findings about the running database alone, before anything is copied. */
export function formerFindings(slug: string, facts: UpgradeFacts, { hotCopy, freeDiskBytes, alteredSettings }: Beside): UpgradeFinding[] {
  const notCopied = whyNoHotCopy({ facts: hotCopy, databaseBytes: facts.bytes, freeDiskBytes })
  const found: (UpgradeFinding | false)[] = [
    notCopied !== undefined &&
      refusal('NO_HOT_COPY', `${slug} cannot be copied while it serves: ${notCopied}. fix: change that, then rehearse again`),
    facts.invalidIndexes.length > 0 &&
      refusal(
        'INVALID_INDEXES',
        `${slug} has invalid indexes: ${listed(facts.invalidIndexes)}. fix: wait until the background updates of Synapse, which build indexes, are done; then \`REINDEX INDEX CONCURRENTLY\` or drop each that is left`,
      ),
    facts.largeObjects > 0 &&
      refusal(
        'LARGE_OBJECTS',
        `${slug} has ${plural(facts.largeObjects, 'large object')}, which Synapse never makes and counts do not cover. fix: export what you need with \`lo_export\`, then \`vacuumlo\``,
      ),
    facts.preparedTransactions > 0 &&
      refusal(
        'PREPARED_TRANSACTIONS',
        `${slug} has ${plural(facts.preparedTransactions, 'prepared transaction')}, which no dump includes. fix: \`COMMIT PREPARED\` or \`ROLLBACK PREPARED\` each of \`pg_prepared_xacts\``,
      ),
    facts.logicalSlots.length > 0 &&
      refusal(
        'LOGICAL_SLOTS',
        `${slug} has logical replication slots: ${listed(facts.logicalSlots)}; their readers would lose their place. fix: stop the readers and drop the slots`,
      ),
    facts.roleSettings.length > 0 &&
      refusal(
        'ROLE_SETTINGS',
        `roles or databases of ${slug} have settings: ${listed(facts.roleSettings)}; the new version may not know them. fix: \`ALTER ROLE … RESET\`, or \`ALTER DATABASE … RESET\`, and set them again after the upgrade`,
      ),
    alteredSettings.length > 0 &&
      refusal(
        'SERVER_SETTINGS',
        `PostgreSQL of ${slug} has settings by \`ALTER SYSTEM\`: ${listed(alteredSettings)}; a load loses them. fix: write them into the command of the service postgres, then \`ALTER SYSTEM RESET\` each`,
      ),
    facts.otherDatabases.length > 0 &&
      refusal(
        'OTHER_DATABASES',
        `the server of ${slug} has other databases: ${listed(facts.otherDatabases)}; the upgrade loads only that of the chat server. fix: move or drop them`,
      ),
  ]
  return found.filter((finding) => finding !== false)
}

/** Findings about a fresh cluster of the new version. */
export function targetFindings(slug: string, facts: UpgradeFacts, target: UpgradeTarget): UpgradeFinding[] {
  if (target.major <= facts.major)
    return [
      refusal(
        'NOT_NEWER',
        `PostgreSQL ${target.version} is not of a newer major version than ${facts.version} of ${slug}. fix: name a newer one with \`--to\``,
      ),
    ]
  const missing = facts.extensions.filter((name) => !target.extensions.includes(name))
  const extensions =
    missing.length === 0
      ? []
      : [
          refusal(
            'EXTENSION_MISSING',
            `${slug} has extensions that the new image does not have: ${listed(missing)}. fix: drop them, or use an image that has them`,
          ),
        ]
  return [...extensions, ...facts.collations.flatMap((collation) => collationFinding(slug, collation, target))]
}

/** Always there, and the same in all versions. */
const fixed = new Set(['c', 'posix', 'c.utf8', 'ucsbasic'])
/** `en_US.UTF-8` and `en_US.utf8` are one. */
const plain = (locale: string): string => locale.toLowerCase().replaceAll(/[-_]/g, '')

function collationFinding(slug: string, { provider, locale, version }: Collation, { major, collations }: UpgradeTarget): UpgradeFinding[] {
  if (fixed.has(plain(locale))) return []
  const name = `${locale} (${providers[provider] ?? provider})`
  const same = collations.find((one) => one.provider === provider && plain(one.locale) === plain(locale))
  const isKnown = same !== undefined || provider === 'i' || (provider === 'b' && major >= firstBuiltIn)
  if (!isKnown)
    return [
      refusal(
        'COLLATION_UNKNOWN',
        `${slug} uses the collation ${name}, which the new image does not have. fix: use an image with this locale, or give the columns another collation`,
      ),
    ]
  const next = same?.version ?? collations.find((one) => one.provider === provider)?.version ?? null
  if (version === null || next === null || version === next) return []
  return [
    {
      severity: 'warn',
      code: 'COLLATION_VERSION',
      message: `the collation ${name} of ${slug} has version ${version}, and ${next} in the new image: text may be sorted differently. A load builds all indexes again; the present files must not be used with that image`,
    },
  ]
}

const providers: Readonly<Record<string, string>> = { c: 'libc', i: 'ICU', b: 'built in' }
const firstBuiltIn = 17

/** All that is compared between the former and the loaded database. */
export const DatabaseContent = z.object({
  bytes: z.number(),
  rows: z.record(z.string(), z.number()),
  /** The last value, as text; null for one that was never used. */
  sequences: z.record(z.string(), z.string().nullable()),
  /** Only valid ones. */
  indexes: z.array(z.string()),
  /** Without NOT NULL, which is a constraint only since PostgreSQL 18. */
  constraints: z.array(z.string()),
  extensions: z.array(z.string()),
  roles: z.array(z.string()),
  /** `encoding`, `collate` and `ctype`. */
  properties: z.record(z.string(), z.string()),
})
export type DatabaseContent = z.infer<typeof DatabaseContent>

/** A comparison with nothing proves nothing. */
export function contentFindings(slug: string, former: DatabaseContent, loaded: DatabaseContent): UpgradeFinding[] {
  const rows = Object.values(former.rows).reduce((sum, count) => sum + count, 0)
  const differing = rows === 0 ? ['the former database has no rows, so nothing was compared'] : differences(former, loaded)
  if (differing.length === 0) return []
  return [
    refusal(
      'CONTENT_DIFFERS',
      `the loaded database of ${slug} differs from the former one: ${listed(differing)}. fix: do not upgrade this box; find the cause first`,
    ),
  ]
}

function differences(former: DatabaseContent, loaded: DatabaseContent): string[] {
  const values = (what: string, before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>) =>
    [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((name) => before[name] !== after[name])
      .map((name) => `${what} ${name}: ${after[name] ?? 'none'} instead of ${before[name] ?? 'none'}`)
  const names = (what: string, before: readonly string[], after: readonly string[]) => [
    ...before.filter((name) => !after.includes(name)).map((name) => `${what} ${name} is missing`),
    ...after.filter((name) => !before.includes(name)).map((name) => `${what} ${name} is new`),
  ]
  return [
    ...values('rows of', former.rows, loaded.rows),
    ...values('sequence', former.sequences, loaded.sequences),
    ...names('index', former.indexes, loaded.indexes),
    ...names('constraint', former.constraints, loaded.constraints),
    ...names('extension', former.extensions, loaded.extensions),
    ...names('role', former.roles, loaded.roles),
    ...values('property', former.properties, loaded.properties),
  ]
}
