import {
  Component,
  driftOf,
  type InstalledVersions,
  type ProbeResult,
  type SynapseSchemas,
  type Tier,
  type TierVersions,
  type VersionsReport,
} from '../boxes/index.ts'
import type { ZonedWindow } from '../wall-clock/index.ts'

import { type Finding, type FindingCode, warning } from './finding.ts'
import { factFindings } from './preflight-facts.ts'
import { type Earlier, fenceFindings, healthFindings, imageFindings, reportFindings, stateFindings } from './preflight-state.ts'
import { versionFindings } from './preflight-versions.ts'

/** A box as the registry and its last report know it. */
export type KnownBox = Readonly<{
  slug: string
  boxId: string
  ownershipEpoch: number
  hostId: string
  hostName: string
  hostOnline: boolean
  /** Of its host, as the agent told them; null where it never did. */
  agentVersion: string | null
  protocolVersion: number | null
  /** The host's clock minus the daemon's. */
  clockOffsetMs: number | null
  tier: Tier
  managed: boolean
  canary: boolean
  databaseBytes: number | null
  installed: InstalledVersions
  report: VersionsReport | null
  reportedAt: string | null
  /** The last one, whoever asked for it. */
  probe: ProbeResult | null
  /** When its tenant may be disturbed; null: at any time. */
  window: ZonedWindow | null
  /** Who holds it, if anybody does. */
  heldBy: string | null
}>

/** What boxes are measured by. */
export type Limits = Readonly<{
  now: string
  staleAfterMs: number
  schemas: SynapseSchemas
  /** An agent of an older version still works, but may not know what this daemon would ask of it. */
  daemonVersion: string
}>

export type Preflight = Readonly<{ does: 'update' | 'skip' | 'refuse'; changes: Component[]; findings: Finding[] }>

const changesBetween = (installed: InstalledVersions, target: TierVersions): Component[] =>
  Component.options.filter((component) => driftOf(component, installed[component], target[component]).severity !== 'none')

/** By what is known of it, whatever else there is to say. */
export const isAtTarget = (installed: InstalledVersions, target: TierVersions): boolean => changesBetween(installed, target).length === 0

/** Whether a box may be brought to its target, has to be, or must not. The same look is taken when planning and again at its turn. */
export function preflightBox(box: KnownBox, target: TierVersions, limits: Limits): Preflight {
  const changes = changesBetween(box.installed, target)
  const blind = reportFindings(box, limits)
  if (changes.length === 0 && blind.length === 0) return { does: 'skip', changes, findings: [] }
  const findings = [
    ...blind,
    ...stateFindings(box, limits),
    ...versionFindings(box, target, changes, limits),
    ...factFindings(box, target, changes, limits),
  ]
  return { does: isRefused(findings) ? 'refuse' : 'update', changes, findings }
}

/**
 * The look at a box whose earlier attempt did not go well. One that runs its target by now may have been opened on it and have failed then: it
 * is passed over only once it is well, or trying again would be a way past its failure. Nor is one that runs another image under the tag that it
 * was to have. `earlier` is null where no attempt came as far as to change the box: it has left nothing then.
 */
export function preflightRetry(box: KnownBox, target: TierVersions, limits: Limits, earlier: Earlier | null): Preflight {
  const found = preflightBox(box, target, limits)
  const unwell = found.does === 'skip' ? [...fenceFindings(box), ...healthFindings(box)] : []
  const findings = [...unwell, ...(earlier ? imageFindings(box, found.changes, earlier) : [])]
  return isRefused(findings) ? { ...found, does: 'refuse', findings: [...findings, ...found.findings] } : found
}

export const isRefused = (findings: readonly Finding[]): boolean => findings.some(({ severity }) => severity === 'refuse')

const backwards: readonly FindingCode[] = ['DOWNGRADE', 'MIGRATIONS_BACK']

/** Whether the box would have to go back: only then it matters who brought it further. */
export const isDowngrade = ({ findings }: Preflight): boolean => findings.some(({ code }) => backwards.includes(code))

/**
 * A box that would have to go back is refused. When an emergency brought it further since the plan was made, nothing is wrong with it: it is
 * passed over instead, also where another component still lags behind, which the next rollout brings.
 */
export function aheadOfPlanFinding(slug: string, found: Preflight, emergency: string | null): Finding | undefined {
  if (emergency === null || !isDowngrade(found)) return undefined
  return warning('AHEAD_OF_PLAN', `${slug} is further than this plan would bring it since the emergency ${emergency}, and is left as it is`)
}
