import { Component, driftOf, type InstalledVersions, type TierVersions } from '../boxes/index.ts'
import { factFindings } from './examine-facts.ts'
import { type Earlier, fenceFindings, healthFindings, imageFindings, reportFindings, stateFindings } from './examine-state.ts'
import { versionFindings } from './examine-versions.ts'
import type { Finding } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'

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
