import { Component, type InstalledVersions, type TierVersions } from '../boxes/index.ts'
import { type Finding, warning } from './finding.ts'
import { oneLine } from './pause-reason.ts'

/** The last time that a box was rolled back: by its agent after a failed update, or with its rollout. */
export type PastRollback = Readonly<{
  slug: string
  rolloutId: string
  at: string | null
  from: InstalledVersions
  to: TierVersions
  reason: string | null
}>

type Planned = Readonly<{ slug: string; target: TierVersions; changes: readonly Component[] }>

/** Warns of a box that would return to versions that it was rolled back from. */
export function pastRollbackFindings({ slug, target, changes }: Planned, past: PastRollback | undefined): Finding[] {
  if (!past) return []
  const again = Component.options.filter(
    (name) => changes.includes(name) && past.to[name] === target[name] && past.from[name] !== past.to[name],
  )
  if (again.length === 0) return []
  const versions = again.map((name) => `${name === 'migrationsHead' ? 'migrations' : name} ${target[name]}`).join(', ')
  const when = past.at === null ? '' : ` on ${past.at.slice(0, 10)}`
  const why = past.reason === null ? '' : `: ${oneLine(past.reason)}`
  return [warning('ROLLED_BACK', `${slug} was rolled back from ${versions}${when} by rollout ${past.rolloutId}${why}`)]
}
