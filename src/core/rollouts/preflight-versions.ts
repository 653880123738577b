import {
  type Component,
  type InstalledVersions,
  isOlder,
  isUnknown,
  type SynapseSchema,
  synapseSchemaOf,
  type TierVersions,
} from '../boxes/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './preflight.ts'

/** What speaks against the way from what is installed to the target. */
export function versionFindings(box: KnownBox, target: TierVersions, changes: readonly Component[], limits: Limits): Finding[] {
  const each = changes.flatMap((component) => componentFindings(component, box, target))
  return changes.includes('synapse') ? [...each, ...synapseFindings(box, target, limits)] : each
}

function componentFindings(component: Component, { slug, installed, report }: KnownBox, target: TierVersions): Finding[] {
  const [from, to] = [installed[component], target[component]]
  if (isUnknown(from))
    return [
      refusal(
        'VERSION_UNKNOWN',
        `the installed version of ${component} in ${slug} is not known, so nobody can tell what the update would do: \`tenantry boxes scan\` asks its agent`,
      ),
    ]
  if (component === 'migrationsHead')
    return to < from
      ? [
          refusal(
            'MIGRATIONS_BACK',
            `${slug} is at migrations head ${from}, and ${to} lies before it: migrations never go back; set ${from} or a later head in the manifest`,
          ),
        ]
      : []
  if (component === 'postgres' && majorOf(from) !== majorOf(to))
    return [
      refusal('POSTGRES_MAJOR', `PostgreSQL ${from} → ${to} crosses a major version: its files do not fit, it needs a dump and a load`),
    ]
  if (isOlder(component, to, from))
    return [refusal('DOWNGRADE', `${component} ${from} → ${to} goes back: older programs do not read what newer ones wrote`)]
  return component === 'postgres' ? collationFindings(slug, report?.facts?.collation ?? null, to) : []
}

/** Only the agent sees the library of the new image; it refuses another one after the pull, before any outage. */
const collationFindings = (slug: string, collation: string | null, to: string): Finding[] =>
  collation === null || collation === 'C' || collation === 'POSIX'
    ? []
    : [
        warning(
          'COLLATION',
          `the database of ${slug} sorts text by ${collation}: PostgreSQL ${to} must come with the same C library as now, or the agent refuses it`,
        ),
      ]

/** Whether the new Synapse runs on the box's PostgreSQL and reads its database. */
function synapseFindings(box: KnownBox, target: TierVersions, { schemas }: Limits): Finding[] {
  const wanted = synapseSchemaOf(schemas, target.synapse)
  if (!wanted)
    return [
      warning(
        'SCHEMA_UNKNOWN',
        `nobody knows here what Synapse ${target.synapse} makes of the database of ${box.slug}: the table ends at ${schemas.knownUpTo}; try it on a canary`,
      ),
    ]
  return [...databaseTooOld(box.installed, target, wanted), ...schemaTooNew(box, target, wanted, { schemas })]
}

function databaseTooOld(installed: InstalledVersions, target: TierVersions, wanted: SynapseSchema): Finding[] {
  const major = Number(majorOf(isUnknown(installed.postgres) ? target.postgres : installed.postgres))
  if (!(major < wanted.postgres)) return []
  return [
    refusal(
      'POSTGRES_TOO_OLD',
      `Synapse ${target.synapse} needs PostgreSQL ${wanted.postgres} or newer, and ${installed.postgres} runs: move the database to a newer major first (a dump and a load)`,
    ),
  ]
}

/** The database says itself who may read it; where it was not asked, the Synapse that runs tells what it must have written. */
export function schemaTooNew(
  { slug, installed, report }: KnownBox,
  target: TierVersions,
  wanted: SynapseSchema,
  { schemas }: Pick<Limits, 'schemas'>,
): Finding[] {
  const running = synapseSchemaOf(schemas, installed.synapse)
  const compat = report?.facts?.compatVersion ?? running?.compat
  if (compat === undefined || compat <= wanted.schema) return []
  const oldest = schemas.versions.find(({ schema }) => schema >= compat)?.from
  return [
    refusal(
      'SCHEMA_TOO_NEW',
      `the database of ${slug} can be read from schema ${compat} on, and Synapse ${target.synapse} knows schemas up to ${wanted.schema}: it would not start; ${oldest ? `the oldest that does is ${oldest}, and ` : ''}going further back takes a snapshot`,
    ),
  ]
}

export const majorOf = (version: string): string => /\d+/.exec(version)?.[0] ?? version
