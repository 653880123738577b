import semver from 'semver'
import { z } from 'zod'
import type { InstalledVersions } from './command-parts.ts'
import type { Manifest, TierVersions } from './manifest.ts'
import { Component, type Tier } from './names.ts'

// The drift of a box from the manifest (spec 4.10). An unknown version never counts as in sync.

/** Drift of one component. */
export const ComponentSeverity = z.enum(['none', 'minor', 'major'])
export type ComponentSeverity = z.infer<typeof ComponentSeverity>

/** Drift of a box: the highest of its components, or `unknown` without a fresh report. */
export const Severity = z.enum(['none', 'minor', 'major', 'unknown'])
export type Severity = z.infer<typeof Severity>

/** Validity of the last report: `stopped` = no host runs the box, `stale` = older than the limit, `offline` = its host is offline, `never` = no report yet. */
export const Freshness = z.enum(['fresh', 'stale', 'offline', 'never', 'stopped'])
export type Freshness = z.infer<typeof Freshness>

const DriftItem = z.object({
  component: Component,
  installed: z.string(),
  target: z.string(),
  severity: ComponentSeverity,
  explanation: z.string(),
})
type DriftItem = z.infer<typeof DriftItem>

/** Stored per box (spec 2.10). */
export const DriftReport = z.object({
  severity: Severity,
  freshness: Freshness,
  manifestRevision: z.number().int(),
  components: z.array(DriftItem),
})
export type DriftReport = z.infer<typeof DriftReport>

type Verdict = Readonly<{ severity: ComponentSeverity; explanation: string }>

const inSync: Verdict = { severity: 'none', explanation: 'in sync' }
const unknown: Verdict = { severity: 'major', explanation: 'the installed version is unknown, which counts as major' }
const minor = (explanation: string): Verdict => ({ severity: 'minor', explanation })
const major = (explanation: string): Verdict => ({ severity: 'major', explanation })

/** Compares one component. An unreadable version counts as unknown. */
export function driftOf(component: Component, installed: string, target: string): DriftItem {
  return { component, installed, target, ...compareComponent(component, installed, target) }
}

function compareComponent(component: Component, installed: string, target: string): Verdict {
  if (isUnknown(installed)) return unknown
  if (component === 'migrationsHead')
    return installed === target ? inSync : major(`migrations differ: ${installed} installed, ${target} in the manifest`)
  if (component === 'minio') return compareMinio(installed, target)
  return component === 'postgres' ? comparePostgres(installed, target) : compareSynapse(installed, target)
}

const direction = (comparison: number): string => (comparison < 0 ? 'behind the manifest' : 'ahead of the manifest')

function compareSynapse(installed: string, target: string): Verdict {
  const [here, there] = [semver.parse(installed, { loose: true }), semver.parse(target, { loose: true })]
  if (!here || !there) return unknown
  const comparison = semver.compare(here, there)
  if (comparison === 0) return inSync
  if (here.major !== there.major) return major(`a major version ${direction(comparison)}`)
  return minor(`a ${here.minor === there.minor ? 'patch' : 'minor'} version ${direction(comparison)}`)
}

type PostgresVersion = Readonly<{ numbers: readonly [number, number]; build: string }>

/** Reads `17.6` and `17.6-bookworm`: since 10 the first number is the major version. */
function parsePostgres(version: string): PostgresVersion | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.\d+)*(?:[- (]+(.*?)\)?)?$/.exec(version)
  return match ? { numbers: [Number(match[1]), Number(match[2] ?? 0)], build: match[3] ?? '' } : undefined
}

function comparePostgres(installed: string, target: string): Verdict {
  const [here, there] = [parsePostgres(installed), parsePostgres(target)]
  if (!here || !there) return unknown
  const comparison = here.numbers[0] - there.numbers[0] || here.numbers[1] - there.numbers[1]
  if (here.numbers[0] !== there.numbers[0])
    return major(
      `a major version ${direction(comparison)}${comparison < 0 ? ': a rollout takes it further after a rehearsal of the upgrade' : ''}`,
    )
  if (comparison !== 0) return minor(`a minor version ${direction(comparison)}`)
  // A server reports only its number; a tag may also name the build.
  return here.build === there.build || here.build === '' || there.build === '' ? inSync : minor('same version, different build')
}

type MinioVersion = Readonly<{ at: number; hotfix: string }>

/** Reads `RELEASE.2025-09-07T16-13-09Z[.hotfix…]` and the server's own `2025-09-07T16:13:09Z`. */
function parseMinio(version: string): MinioVersion | undefined {
  const match = /^(?:RELEASE\.)?(\d{4}-\d{2}-\d{2})T(\d{2})[-:](\d{2})[-:](\d{2})Z(?:\.(.+))?$/.exec(version)
  if (!match) return undefined
  const at = Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`)
  return Number.isNaN(at) ? undefined : { at, hotfix: match[5] ?? '' }
}

function compareMinio(installed: string, target: string): Verdict {
  if (installed === target) return inSync
  const [here, there] = [parseMinio(installed), parseMinio(target)]
  // A custom build: it is known what runs, but not which is newer.
  if (!here || !there) return minor('not comparable: the tag has no release time')
  if (here.at !== there.at) return minor(`a release ${direction(here.at - there.at)}`)
  return here.hotfix === there.hotfix ? inSync : minor('same release, different hotfix')
}

const rank: Record<ComponentSeverity, number> = { none: 0, minor: 1, major: 2 }

/** The highest severity; `none` for an empty list. */
export const worstOf = (severities: readonly ComponentSeverity[]): ComponentSeverity =>
  severities.reduce<ComponentSeverity>((highest, one) => (rank[one] > rank[highest] ? one : highest), 'none')

/** Compares every component of a box with its tier's versions. */
const compareVersions = (installed: InstalledVersions, target: TierVersions): DriftItem[] =>
  Component.options.map((component) => driftOf(component, installed[component], target[component]))

type Subject = Readonly<{ tier: Tier; installed: InstalledVersions; freshness: Freshness }>

/** The drift report of a box; `unknown` without a fresh report, whatever the last versions were. */
export function driftReport({ tier, installed, freshness }: Subject, manifest: Manifest, manifestRevision: number): DriftReport {
  const components = compareVersions(installed, manifest.tiers[tier])
  const severity = freshness === 'fresh' ? worstOf(components.map((item) => item.severity)) : 'unknown'
  return { severity, freshness, manifestRevision, components }
}

type Known = Readonly<{ reportedAt: string | null; hostOnline: boolean; stopped: boolean }>

/** How valid the last report is still valid at `now` (milliseconds of the wall clock). */
export function freshnessOf({ reportedAt, hostOnline, stopped }: Known, now: number, staleAfterMs: number): Freshness {
  if (stopped) return 'stopped' // its old host may still report versions
  if (reportedAt === null) return 'never'
  if (now - Date.parse(reportedAt) > staleAfterMs) return 'stale'
  return hostOnline ? 'fresh' : 'offline'
}

/** True for an unreadable version and for a tag without one. */
export const isUnknown = (version: string): boolean => version === 'unknown' || version === 'latest' || version === ''

/**
 * True if a version is older than another of the same component; false where they cannot be compared. A MinIO version without a release time is older
 * than every one with it.
 */
export function isOlder(component: Component, version: string, than: string): boolean {
  if (component === 'migrationsHead') return isHead(version) && isHead(than) && version < than
  if (component === 'minio') return releaseTime(version) < releaseTime(than)
  // PostgreSQL has two numbers and maybe a build name; Synapse release candidates count as older.
  const read = (text: string) => (component === 'synapse' ? semver.parse(text, { loose: true }) : null) ?? semver.coerce(text)
  const [here, there] = [read(version), read(than)]
  return here !== null && there !== null && semver.lt(here, there)
}

const isHead = (text: string): boolean => /^[0-9]{4}$/.test(text)

/** The digits of `RELEASE.2025-09-07T16-13-09Z` or `2025-09-07T16:13:09Z`; they sort as time. */
const releaseTime = (version: string): string => (/\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d/.exec(version)?.[0] ?? '').replace(/\D/g, '')
