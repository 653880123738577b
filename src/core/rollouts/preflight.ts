import { Component, driftOf, type InstalledVersions, type TierVersions } from '../boxes/index.ts'

import { type Finding, type FindingCode, warning } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { factFindings } from './preflight-facts.ts'
import { type Earlier, fenceFindings, healthFindings, imageFindings, reportFindings, stateFindings } from './preflight-state.ts'
import { versionFindings } from './preflight-versions.ts'

export type Preflight = Readonly<{ does: 'update' | 'skip' | 'refuse'; changes: Component[]; findings: Finding[] }>

export const changesBetween = (installed: InstalledVersions, target: TierVersions): Component[] =>
  Component.options.filter((component) => driftOf(component, installed[component], target[component]).severity !== 'none')

/** By the reported versions alone. */
export const isAtTarget = (installed: InstalledVersions, target: TierVersions): boolean => changesBetween(installed, target).length === 0

/** Decides whether a box needs its update and whether the update is allowed; called for the plan and again right before the update. */
export function preflightBox(box: KnownBox, target: TierVersions, limits: Limits): Preflight {
  const changes = changesBetween(box.installed, target)
  const outdated = reportFindings(box, limits)
  if (changes.length === 0 && outdated.length === 0) return { does: 'skip', changes, findings: [] }
  const findings = [
    ...outdated,
    ...stateFindings(box),
    ...versionFindings({ box, target, changes }, limits),
    ...factFindings({ box, target, changes }, limits),
  ]
  return { does: isRefused(findings) ? 'refuse' : 'update', changes, findings }
}

/**
 * The preflight of a box whose earlier attempt failed. A box that runs its target by now is skipped only where it is healthy and unfenced: a
 * retry must not hide a failure. A box that runs another image under a pinned tag is refused. `earlier` is null where no attempt changed it.
 */
export function preflightRetry(box: KnownBox, target: TierVersions, limits: Limits & Readonly<{ earlier: Earlier | null }>): Preflight {
  const { earlier } = limits
  const found = preflightBox(box, target, limits)
  const unhealthy = found.does === 'skip' ? [...fenceFindings(box), ...healthFindings(box)] : []
  const findings = [...unhealthy, ...(earlier ? imageFindings(box, found.changes, earlier) : [])]
  return isRefused(findings) ? { ...found, does: 'refuse', findings: [...findings, ...found.findings] } : found
}

export const isRefused = (findings: readonly Finding[]): boolean => findings.some(({ severity }) => severity === 'refuse')

const backwards: readonly FindingCode[] = ['DOWNGRADE', 'MIGRATIONS_BACK']

/** True where the target is older than what runs. */
export const isDowngrade = ({ findings }: Preflight): boolean => findings.some(({ code }) => backwards.includes(code))

/**
 * A downgrade is refused. Where an emergency has updated the box since the plan, the box is skipped instead, also where another component is
 * behind: the next rollout updates that.
 */
export function aheadOfPlanFinding(slug: string, found: Preflight, emergency: string | null): Finding | undefined {
  if (emergency === null || !isDowngrade(found)) return undefined
  return warning('AHEAD_OF_PLAN', `${slug} runs newer versions than this plan since the emergency ${emergency}; it is skipped`)
}
