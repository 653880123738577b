import {
  type Component,
  canObjectStoreReturn,
  type InstalledVersions,
  isOlder,
  isUnknown,
  type SynapseSchema,
  synapseSchemaOf,
  type TierVersions,
} from '../boxes/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { isUpgrade, majorOf, upgradeFindings } from './preflight-upgrade.ts'

/** Findings about the change from the installed versions to the target. */
export function versionFindings(
  { box, target, changes }: Readonly<{ box: KnownBox; target: TierVersions; changes: readonly Component[] }>,
  limits: Limits,
): Finding[] {
  const each = changes.flatMap((component) => componentFindings(component, { box, target }, limits))
  return [
    ...each,
    ...(changes.includes('synapse') ? synapseFindings(box, target, limits) : []),
    ...(changes.includes('minio') ? objectStoreFindings(box, target, limits) : []),
  ]
}

/** A failed update runs the former MinIO on the volume that the new one has opened. */
function objectStoreFindings({ slug, installed }: KnownBox, { minio }: TierVersions, { schemas }: Limits): Finding[] {
  const from = installed.minio
  if (isUnknown(from) || isOlder('minio', minio, from) || canObjectStoreReturn(schemas, from, minio)) return []
  return [
    warning(
      'OBJECT_STORE_UNKNOWN',
      `it is unknown whether ${from} of ${slug} could read its objects again after a rollback from ${minio}. fix: try the pair on a canary; add it to \`objectStores\` in the compatibility table`,
    ),
  ]
}

function componentFindings(
  component: Component,
  { box, target }: Readonly<{ box: KnownBox; target: TierVersions }>,
  limits: Limits,
): Finding[] {
  const { slug, installed, report } = box
  const [from, to] = [installed[component], target[component]]
  if (isUnknown(from))
    return [refusal('VERSION_UNKNOWN', `the installed version of ${component} in ${slug} is unknown. fix: run \`tenantry boxes scan\``)]
  if (component === 'migrationsHead')
    return to < from
      ? [
          refusal(
            'MIGRATIONS_BACK',
            `${slug} is at migrations head ${from}, but the target is ${to}, and migrations cannot be reverted. fix: set ${from} or a later head in the manifest`,
          ),
        ]
      : []
  if (component === 'postgres' && isUpgrade(box.installed, target)) return upgradeFindings({ box, target }, limits)
  if (isOlder(component, to, from))
    return [refusal('DOWNGRADE', `${component} ${from} → ${to} is a downgrade: older versions cannot read what newer ones wrote`)]
  return component === 'postgres' ? collationFindings(slug, report?.facts?.collation ?? null, to) : []
}

/** Only the agent can check the C library of the new image; it refuses another one after the pull, before any downtime. */
const collationFindings = (slug: string, collation: string | null, to: string): Finding[] =>
  collation === null || collation === 'C' || collation === 'POSIX'
    ? []
    : [
        warning(
          'COLLATION',
          `the database of ${slug} uses the collation ${collation}: the image of PostgreSQL ${to} must have the same C library, or the agent refuses it`,
        ),
      ]

/** The new Synapse must support the box's PostgreSQL and the schema of its database. */
function synapseFindings(box: KnownBox, target: TierVersions, { schemas }: Limits): Finding[] {
  const schema = synapseSchemaOf(schemas, target.synapse)
  if (!schema)
    return [
      warning(
        'SCHEMA_UNKNOWN',
        `Synapse ${target.synapse} is not in the compatibility table (newest: ${schemas.knownUpTo}); the schema effect on ${box.slug} is unknown. fix: try it on a canary`,
      ),
    ]
  return [...databaseTooOld(box.installed, target, schema), ...schemaTooNew({ box, target, known: schema }, { schemas })]
}

function databaseTooOld(installed: InstalledVersions, target: TierVersions, needed: SynapseSchema): Finding[] {
  // Both change together.
  const runs = isUnknown(installed.postgres) || isUpgrade(installed, target) ? target.postgres : installed.postgres
  const major = Number(majorOf(runs))
  if (!(major < needed.postgres)) return []
  return [
    refusal(
      'POSTGRES_TOO_OLD',
      `Synapse ${target.synapse} needs PostgreSQL ${needed.postgres} or newer, but ${runs} would run. fix: set a newer major version of PostgreSQL in the manifest (docs/postgres-upgrades.md)`,
    ),
  ]
}

/** The database stores which schema may read it; without that fact the version of the running Synapse decides. */
export function schemaTooNew(
  { box: { slug, installed, report }, target, known }: Readonly<{ box: KnownBox; target: TierVersions; known: SynapseSchema }>,
  { schemas }: Pick<Limits, 'schemas'>,
): Finding[] {
  const running = synapseSchemaOf(schemas, installed.synapse)
  const compat = report?.facts?.compatVersion ?? running?.compat
  if (compat === undefined || compat <= known.schema) return []
  const oldest = schemas.versions.find(({ schema }) => schema >= compat)?.from
  return [
    refusal(
      'SCHEMA_TOO_NEW',
      `the database of ${slug} needs schema ${compat} or newer, but Synapse ${target.synapse} knows schemas up to ${known.schema} and would not start. ${oldest ? `fix: use ${oldest} or newer, or ` : 'fix: '}restore this box alone (\`tenantry snapshots list --slug ${slug}\`)`,
    ),
  ]
}
