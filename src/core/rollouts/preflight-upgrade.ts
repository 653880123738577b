import { type InstalledVersions, isOlder, isUnknown, type TierVersions, whyNoHotCopy } from '../boxes/index.ts'
import { bytesText, plural } from '../kit/index.ts'
import { type Finding, refusal } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'

// An update to another major version of PostgreSQL: only with a good rehearsal of the same image, so that its downtime is known and its content was
// compared once.

export const majorOf = (version: string): string => /\d+/.exec(version)?.[0] ?? version

/** Another major version of PostgreSQL, in whichever direction. */
const crossesMajor = (installed: Pick<InstalledVersions, 'postgres'>, target: Pick<TierVersions, 'postgres'>): boolean =>
  !isUnknown(installed.postgres) && majorOf(installed.postgres) !== majorOf(target.postgres)

/** A newer one; an older one cannot read what a newer one wrote. */
export const isUpgrade = (installed: Pick<InstalledVersions, 'postgres'>, target: Pick<TierVersions, 'postgres'>): boolean =>
  crossesMajor(installed, target) && !isOlder('postgres', target.postgres, installed.postgres)

/** The copy, the dump and the database of the new version are at most as large as the database each. */
export const roomOf = (databaseBytes: number | null): number | null => (databaseBytes === null ? null : 3 * databaseBytes)

type About = Readonly<{ box: KnownBox; target: TierVersions }>

/** Why a box cannot be taken to another major version of PostgreSQL now. */
export function upgradeFindings({ box, target }: About, limits: Limits): Finding[] {
  const { slug, installed } = box
  const why = whyNotPossible(box) ?? whyNotRehearsed(box, limits)
  if (why === undefined) return []
  return [
    refusal('POSTGRES_MAJOR', `PostgreSQL ${installed.postgres} → ${target.postgres} of ${slug} is another major version, and ${why}`),
  ]
}

function whyNotPossible({ hostName, report, databaseBytes }: KnownBox): string | undefined {
  const { hotCopy, freeDiskBytes = null, formerDatabases } = report?.facts ?? {}
  if (formerDatabases === undefined) return `the agent of ${hostName} does not upgrade PostgreSQL. fix: upgrade tenantry-agent`
  const notCopied = whyNoHotCopy({ facts: hotCopy, databaseBytes, freeDiskBytes })
  if (notCopied !== undefined) return `it cannot be copied while it serves: ${notCopied}. fix: change that, then plan again`
  const room = roomOf(databaseBytes)
  if (room === null || freeDiskBytes === null || room <= freeDiskBytes) return undefined
  return `it needs ${bytesText(room)} of disk space, of which ${bytesText(freeDiskBytes)} are free on ${hostName}. fix: free space`
}

const dayMs = 24 * 3_600_000

function whyNotRehearsed({ slug, rehearsal }: KnownBox, { now, upgrade }: Limits): string | undefined {
  const fix = `fix: \`tenantry boxes rehearse-upgrade ${slug} --to ${upgrade?.image ?? '<image>'}\``
  if (!rehearsal || !upgrade) return `this was never rehearsed. ${fix}`
  if (rehearsal.image !== upgrade.image) return `only ${rehearsal.image} was rehearsed. ${fix}`
  if (!rehearsal.ok) return `its last rehearsal failed (\`tenantry boxes show ${slug}\`). ${fix}`
  if (Date.parse(now) - Date.parse(rehearsal.at) <= upgrade.maxAgeMs) return undefined
  return `its last rehearsal is older than ${plural(upgrade.maxAgeMs / dayMs, 'day')}. ${fix}`
}

/** The tag may have moved since the rehearsal; a digest that is not known yet is compared when it is pulled. */
export function rehearsedDigestFindings({ slug, rehearsal }: KnownBox, image: string, digest: string | null | undefined): Finding[] {
  if (!rehearsal?.digest || !digest || rehearsal.image !== image || rehearsal.digest === digest) return []
  return [
    refusal(
      'POSTGRES_MAJOR',
      `${image} is ${digest}, and the rehearsal of ${slug} was of ${rehearsal.digest}. fix: \`tenantry boxes rehearse-upgrade ${slug} --to ${image}\``,
    ),
  ]
}
