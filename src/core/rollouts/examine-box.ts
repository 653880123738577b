import { Component, driftOf, type TierVersions } from '../boxes/index.ts'
import { factFindings } from './examine-facts.ts'
import { reportFindings, stateFindings } from './examine-state.ts'
import { versionFindings } from './examine-versions.ts'
import type { Finding } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'

export type Examination = Readonly<{ does: 'update' | 'skip' | 'refuse'; changes: Component[]; findings: Finding[] }>

/** Whether a box may be brought to its target, has to be, or must not. The same look is taken when planning and again at its turn. */
export function examineBox(box: KnownBox, target: TierVersions, limits: Limits): Examination {
  const changes = Component.options.filter(
    (component) => driftOf(component, box.installed[component], target[component]).severity !== 'none',
  )
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

export const isRefused = (findings: readonly Finding[]): boolean => findings.some(({ severity }) => severity === 'refuse')
