import semver from 'semver'
import {
  Component,
  driftOf,
  type InstalledVersions,
  type Tier,
  type TierVersions,
  type VersionedService,
  type VersionsReport,
} from '../boxes/index.ts'
import { duration } from '../kit/index.ts'
import type { Finding, FindingCode } from './finding.ts'

/** A box as the registry and its last report know it. */
export type KnownBox = Readonly<{
  slug: string
  boxId: string
  ownershipEpoch: number
  hostId: string
  hostName: string
  hostOnline: boolean
  tier: Tier
  managed: boolean
  canary: boolean
  databaseBytes: number | null
  installed: InstalledVersions
  report: VersionsReport | null
  reportedAt: string | null
  /** Who holds it, if anybody does. */
  heldBy: string | null
}>

export type Examination = Readonly<{ does: 'update' | 'skip' | 'refuse'; changes: Component[]; findings: Finding[] }>

type Limits = Readonly<{ now: string; staleAfterMs: number }>

/** Whether a box may be brought to its target, has to be, or must not. The same look is taken when planning and again at its turn. */
export function examineBox(box: KnownBox, target: TierVersions, limits: Limits): Examination {
  const changes = Component.options.filter(
    (component) => driftOf(component, box.installed[component], target[component]).severity !== 'none',
  )
  const blind = reportFindings(box, limits)
  if (changes.length === 0 && blind.length === 0) return { does: 'skip', changes, findings: [] }
  const findings = [...blind, ...stateFindings(box), ...changes.flatMap((component) => versionFindings(component, box.installed, target))]
  return { does: findings.some(({ severity }) => severity === 'refuse') ? 'refuse' : 'update', changes, findings }
}

const refuse = (code: FindingCode, message: string): Finding => ({ severity: 'refuse', code, message })

function reportFindings({ slug, reportedAt }: KnownBox, { now, staleAfterMs }: Limits): Finding[] {
  if (reportedAt === null) return [refuse('NO_REPORT', `${slug} has never reported its versions: \`tenantry boxes scan\` asks its agent`)]
  const ageMs = Date.parse(now) - Date.parse(reportedAt)
  if (ageMs <= staleAfterMs) return []
  return [refuse('STALE_REPORT', `the last report of ${slug} is ${duration(ageMs)} old: \`tenantry boxes scan\` asks its agent`)]
}

function stateFindings({ slug, managed, hostOnline, hostName, report, heldBy }: KnownBox): Finding[] {
  const findings: Finding[] = []
  if (!managed) findings.push(refuse('NOT_MANAGED', `${slug} is only observed: complete its adoption before it can be updated`))
  if (!hostOnline) findings.push(refuse('HOST_OFFLINE', `the host ${hostName} of ${slug} is offline: start its agent`))
  if (heldBy !== null)
    findings.push({
      severity: 'warn',
      code: 'BOX_HELD',
      message: `${slug} is held by ${heldBy} now; at its turn it waits until it is free`,
    })
  else if (report?.fenced)
    findings.push(
      refuse('BOX_FENCED', `${slug} is fenced and nothing holds it: find out why (\`tenantry boxes show ${slug}\`) before updating it`),
    )
  return findings
}

function versionFindings(component: Component, installed: InstalledVersions, target: TierVersions): Finding[] {
  const [from, to] = [installed[component], target[component]]
  if (from === 'unknown' || from === 'latest' || from === '')
    return [refuse('VERSION_UNKNOWN', `the installed version of ${component} is not known, so nobody can tell what the update would do`)]
  if (component === 'migrationsHead')
    return [
      refuse(
        'MIGRATIONS_DIFFER',
        `migrations head ${from} is not ${to}, and box migrations cannot be applied yet: keep ${from} in the manifest`,
      ),
    ]
  if (component === 'postgres' && majorOf(from) !== majorOf(to))
    return [
      refuse('POSTGRES_MAJOR', `PostgreSQL ${from} → ${to} crosses a major version: its files do not fit, it needs a dump and a load`),
    ]
  if (isDowngrade(component, from, to))
    return [refuse('DOWNGRADE', `${component} ${from} → ${to} goes back: older programs do not read what newer ones wrote`)]
  return []
}

const majorOf = (version: string): string => /\d+/.exec(version)?.[0] ?? version

/** Object storage is named by time of release, the other two by number. What cannot be compared is no downgrade. */
function isDowngrade(component: VersionedService, from: string, to: string): boolean {
  if (component === 'minio') return releaseTime(to) < releaseTime(from)
  // PostgreSQL has two numbers and maybe the name of a build; Synapse has release candidates, which count.
  const read = (version: string) => (component === 'synapse' ? semver.parse(version, { loose: true }) : null) ?? semver.coerce(version)
  const [before, after] = [read(from), read(to)]
  return before !== null && after !== null && semver.lt(after, before)
}

/** `RELEASE.2025-09-07T16-13-09Z` and `2025-09-07T16:13:09Z` are the same moment: its digits in their order sort as time. */
const releaseTime = (version: string): string => (/\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d/.exec(version)?.[0] ?? '').replace(/\D/g, '')
