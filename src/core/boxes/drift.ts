import semver from 'semver'
import { z } from 'zod'
import type { InstalledVersions } from './command-parts.ts'
import type { Manifest, TierVersions } from './manifest.ts'
import { Component, type Tier } from './names.ts'

// How far a box is from the manifest (spec 4.10). What is not known is never called in sync.

/** Of one component. */
export const ComponentSeverity = z.enum(['none', 'minor', 'major'])
export type ComponentSeverity = z.infer<typeof ComponentSeverity>

/** Of a box: the worst of its components, or `unknown` when nothing recent is known about it. */
export const Severity = z.enum(['none', 'minor', 'major', 'unknown'])
export type Severity = z.infer<typeof Severity>

/**
 * Whether the last report still says something: `stopped` is of a box that no host runs any more or at the moment, `stale` is older than the
 * limit, `offline` has a silent host, `never` has no report yet.
 */
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

/** What is stored per box (spec 2.10). */
export const DriftReport = z.object({
  severity: Severity,
  freshness: Freshness,
  manifestRevision: z.number().int(),
  components: z.array(DriftItem),
})
export type DriftReport = z.infer<typeof DriftReport>

type Verdict = Readonly<{ severity: ComponentSeverity; explanation: string }>

const inSync: Verdict = { severity: 'none', explanation: 'in sync' }
const unknown: Verdict = { severity: 'major', explanation: 'the installed version is not known, which counts as major' }
const minor = (explanation: string): Verdict => ({ severity: 'minor', explanation })
const major = (explanation: string): Verdict => ({ severity: 'major', explanation })

/** Compares one component. A version that cannot be read counts like an unknown one. */
export function driftOf(component: Component, installed: string, target: string): DriftItem {
  return { component, installed, target, ...compareComponent(component, installed, target) }
}

function compareComponent(component: Component, installed: string, target: string): Verdict {
  if (isUnknown(installed)) return unknown
  if (component === 'migrationsHead')
    return installed === target ? inSync : major(`migrations differ: ${installed} here, ${target} in the manifest`)
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

/** `17.6`, `17.6-bookworm`: since 10 the first number is the major. */
function parsePostgres(version: string): PostgresVersion | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.\d+)*(?:[- (]+(.*?)\)?)?$/.exec(version)
  return match ? { numbers: [Number(match[1]), Number(match[2] ?? 0)], build: match[3] ?? '' } : undefined
}

function comparePostgres(installed: string, target: string): Verdict {
  const [here, there] = [parsePostgres(installed), parsePostgres(target)]
  if (!here || !there) return unknown
  const comparison = here.numbers[0] - there.numbers[0] || here.numbers[1] - there.numbers[1]
  if (here.numbers[0] !== there.numbers[0])
    return major(`a major version ${direction(comparison)}: it needs a dump and a load, not a new tag`)
  if (comparison !== 0) return minor(`a minor version ${direction(comparison)}`)
  // A server tells its number only; that is no difference to a tag which also names the build.
  return here.build === there.build || here.build === '' || there.build === '' ? inSync : minor('the same version of another build')
}

type MinioVersion = Readonly<{ at: number; hotfix: string }>

/** `RELEASE.2025-09-07T16-13-09Z[.hotfix…]`, or the server's own `2025-09-07T16:13:09Z`: releases are times. */
function parseMinio(version: string): MinioVersion | undefined {
  const match = /^(?:RELEASE\.)?(\d{4}-\d{2}-\d{2})T(\d{2})[-:](\d{2})[-:](\d{2})Z(?:\.(.+))?$/.exec(version)
  if (!match) return undefined
  const at = Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`)
  return Number.isNaN(at) ? undefined : { at, hotfix: match[5] ?? '' }
}

function compareMinio(installed: string, target: string): Verdict {
  const [here, there] = [parseMinio(installed), parseMinio(target)]
  if (!here || !there) return unknown
  if (here.at !== there.at) return minor(`a release ${direction(here.at - there.at)}`)
  return here.hotfix === there.hotfix ? inSync : minor('the same release with another hotfix')
}

const rank: Record<ComponentSeverity, number> = { none: 0, minor: 1, major: 2 }

/** The worst of all; `none` of nothing. */
export const worstOf = (severities: readonly ComponentSeverity[]): ComponentSeverity =>
  severities.reduce<ComponentSeverity>((worst, one) => (rank[one] > rank[worst] ? one : worst), 'none')

/** Every component of a box against what its tier should run. */
const compareVersions = (installed: InstalledVersions, target: TierVersions): DriftItem[] =>
  Component.options.map((component) => driftOf(component, installed[component], target[component]))

type Subject = Readonly<{ tier: Tier; installed: InstalledVersions; freshness: Freshness }>

/** The report of a box: `unknown` while nothing fresh is known, whatever the last versions were. */
export function driftReport({ tier, installed, freshness }: Subject, manifest: Manifest, manifestRevision: number): DriftReport {
  const components = compareVersions(installed, manifest.tiers[tier])
  const severity = freshness === 'fresh' ? worstOf(components.map((item) => item.severity)) : 'unknown'
  return { severity, freshness, manifestRevision, components }
}

type Known = Readonly<{ reportedAt: string | null; hostOnline: boolean; stopped: boolean }>

/** Whether a report still speaks for the box at `now` (milliseconds of the wall clock). */
export function freshnessOf({ reportedAt, hostOnline, stopped }: Known, now: number, staleAfterMs: number): Freshness {
  if (stopped) return 'stopped' // its host may go on to say what it once ran
  if (reportedAt === null) return 'never'
  if (now - Date.parse(reportedAt) > staleAfterMs) return 'stale'
  return hostOnline ? 'fresh' : 'offline'
}

/** Nobody could read it, or it is a tag that says nothing. */
export const isUnknown = (version: string): boolean => version === 'unknown' || version === 'latest' || version === ''

/**
 * Whether a version lies before another of the same component. What cannot be compared does not; but of object storage one that names no time
 * of release lies before all that do.
 */
export function isOlder(component: Component, version: string, than: string): boolean {
  if (component === 'migrationsHead') return isHead(version) && isHead(than) && version < than
  if (component === 'minio') return releaseTime(version) < releaseTime(than)
  // PostgreSQL has two numbers and maybe the name of a build; Synapse has release candidates, which count.
  const read = (text: string) => (component === 'synapse' ? semver.parse(text, { loose: true }) : null) ?? semver.coerce(text)
  const [here, there] = [read(version), read(than)]
  return here !== null && there !== null && semver.lt(here, there)
}

const isHead = (text: string): boolean => /^[0-9]{4}$/.test(text)

/** `RELEASE.2025-09-07T16-13-09Z` and `2025-09-07T16:13:09Z` are the same moment: its digits in their order sort as time. */
const releaseTime = (version: string): string => (/\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d/.exec(version)?.[0] ?? '').replace(/\D/g, '')
