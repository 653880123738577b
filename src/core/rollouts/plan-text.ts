import { duration } from '../kit/index.ts'
import type { RolloutAttempt } from './action.ts'
import type { Finding } from './finding.ts'
import type { PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'

// Every view of a plan uses these words.

/** By phase, then as planned. */
export function inPhaseOrder({ phases, boxes }: Pick<RolloutPlan, 'phases' | 'boxes'>): PlannedBox[] {
  const order = phases.map(({ phase }) => phase)
  return boxes.toSorted((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase))
}

export type FindingKind = Readonly<{ code: string; lines: readonly Readonly<{ slug: string; message: string }>[] }>

/** Findings of one severity by kind, the most frequent first, in plan order within a kind. */
export function findingsByKind(
  boxes: readonly Pick<PlannedBox, 'tenantSlug' | 'findings'>[],
  severity: Finding['severity'],
): FindingKind[] {
  const found = boxes.flatMap(({ tenantSlug: slug, findings }) =>
    findings.filter((finding) => finding.severity === severity).map(({ code, message }) => ({ code, slug, message })),
  )
  return [...new Set(found.map(({ code }) => code))]
    .map((code) => ({ code, lines: found.filter((one) => one.code === code) }))
    .toSorted((a, b) => b.lines.length - a.lines.length)
}

/** How an image was resolved, or why it was not. */
export function imageSource({ digest, from, askedFrom = 'a host', confirmedBy, why }: PlannedImage): string {
  if (digest === null)
    return `${from === 'disputed' ? 'disputed' : 'unresolved'}${why === undefined ? '; pinned at the first pull' : `: ${why}`}`
  if (from === 'fleet') return confirmedBy === null ? `already running on ${askedFrom} only` : 'already running in the fleet'
  if (from === 'manifest') return 'pinned by the manifest'
  return `resolved from the registry via ${askedFrom}${confirmedBy ? ` and ${confirmedBy}` : ''}${confirmedBy === null ? ' only' : ''}`
}

const restoredWords = {
  'cold-copy': 'restored from cold copy',
  dump: 'restored from dump',
  'former-volume': 'back on its former volume',
} as const satisfies Record<NonNullable<RolloutAttempt['restored']>['from'], string>

/** The source and duration of a database restore. */
export const restoredText = ({ from, tookMs, copiedMs }: NonNullable<RolloutAttempt['restored']>): string =>
  `${restoredWords[from]} in ${duration(tookMs)}${copiedMs === undefined ? '' : ` (copied in ${duration(copiedMs)})`}`
