import { z } from 'zod'
import { InstalledVersions, VersionedService } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { spanMs } from '../kit/index.ts'
import { RollbackMode } from './action.ts'
import { Finding } from './finding.ts'
import { isRefused, type KnownBox, type Limits } from './preflight.ts'

import { imageRollbackFindings, rollbackImages } from './rollback-by-images.ts'
import { boxFindings, type Fixes, type GoingBack, snapshotFindings, vulnerabilityFindings } from './rollback-findings.ts'

/** How one updated box would be brought back. */
export const PlannedRollback = z.object({
  tenantSlug: z.string(),
  boxId: z.string(),
  hostId: z.string(),
  hostName: z.string(),
  does: z.enum(['undo', 'refuse']),
  from: InstalledVersions,
  to: InstalledVersions,
  /** By images: what each changing service would run again. */
  images: z.partialRecord(VersionedService, z.object({ image: z.string(), digest: z.string() })),
  /** By snapshot: the one from before the update. */
  snapshotId: z.string().nullable(),
  /** By snapshot: everything that was written in the box since then is lost; null where nothing is. */
  losesSince: Timestamp.nullable(),
  losesMs: z.number(),
  findings: z.array(Finding),
})
export type PlannedRollback = z.infer<typeof PlannedRollback>

/** The way back of a rollout, box by box in the order in which they would go: the last that was updated first. */
export const RollbackPlan = z.object({
  rolloutId: z.string(),
  mode: RollbackMode,
  madeAt: Timestamp,
  boxes: z.array(PlannedRollback),
  undoes: z.number().int(),
  refusals: z.number().int(),
})
export type RollbackPlan = z.infer<typeof RollbackPlan>

/** The snapshot from before an update, as the registry has it. */
type KeptSnapshot = Readonly<{ snapshotId: string; sha256: string | null; takenAt: string; status: string }>

/** What a rollout made of a box, from the evidence of the update. */
export type CompletedUpdate = Readonly<{
  slug: string
  boxId: string
  hostId: string
  finishedAt: string
  from: InstalledVersions
  to: InstalledVersions
  imagesBefore: Readonly<Record<string, string>>
  digestsBefore: Readonly<Record<string, string | null>>
  digestsAfter: Readonly<Record<string, string | null>>
  /** Background updates that the former chat server had under way itself. */
  backgroundBefore: readonly string[]
  /** Null when the update told of none, or the registry does not know it. */
  snapshot: KeptSnapshot | null
}>

type UndoLimits = Limits & Readonly<{ fixes: Fixes }>

type UndoInput = UndoLimits &
  Readonly<{
    rolloutId: string
    mode: RollbackMode
    updates: readonly CompletedUpdate[]
    /** By slug, as they are now. */
    boxes: ReadonlyMap<string, KnownBox>
  }>

/** The way back of a rollout: the box that was updated last goes first. Decides nothing: a box is looked at again at its turn. */
export function planRollback({ rolloutId, mode, updates, boxes, ...limits }: UndoInput): RollbackPlan {
  const planned = updates.toSorted(newestFirst).map((update) => planBoxRollback(mode, update, boxes.get(update.slug), limits))
  const undoes = planned.filter(({ does }) => does === 'undo').length
  return { rolloutId, mode, madeAt: limits.now, boxes: planned, undoes, refusals: planned.length - undoes }
}

type InOrder = Readonly<{ slug: string; finishedAt: string | null }>

/** Times alone do not order two updates of one moment. */
export const newestFirst = (a: InOrder, b: InOrder): number => {
  const [one, other] = [`${a.finishedAt ?? ''} ${a.slug}`, `${b.finishedAt ?? ''} ${b.slug}`]
  return one < other ? 1 : -1
}

/** How one box would go back, and what speaks against it. The same look is taken when planning and again at its turn. */
export function planBoxRollback(
  mode: RollbackMode,
  update: CompletedUpdate,
  box: KnownBox | undefined,
  limits: UndoLimits,
): PlannedRollback {
  const byImages = mode === 'images'
  const to = byImages ? versionsByImages(update, box?.installed ?? update.to) : update.from
  const findings = [...boxFindings(mode, update, box, limits), ...(box ? findingsOf(mode, update, { ...box, to }, limits) : [])]
  const lost = byImages ? null : (update.snapshot?.takenAt ?? null)
  return {
    tenantSlug: update.slug,
    boxId: update.boxId,
    hostId: box?.hostId ?? update.hostId,
    hostName: box?.hostName ?? update.hostId,
    does: isRefused(findings) ? 'refuse' : 'undo',
    from: box?.installed ?? update.to,
    to,
    images: byImages ? rollbackImages(update) : {},
    snapshotId: byImages ? null : (update.snapshot?.snapshotId ?? null),
    losesSince: lost,
    losesMs: lost === null ? 0 : spanMs(lost, limits.now),
    findings,
  }
}

const findingsOf = (mode: RollbackMode, update: CompletedUpdate, box: GoingBack, limits: UndoLimits): Finding[] => [
  ...vulnerabilityFindings(box, limits.fixes),
  ...(mode === 'images' ? imageRollbackFindings(update, box, limits) : snapshotFindings(update)),
]

/** Looked for once more when the images are there: an emergency may have begun while they were pulled. */
export const imageRollbackVulnerabilities = (update: CompletedUpdate, box: KnownBox, fixes: Fixes): Finding[] =>
  vulnerabilityFindings({ ...box, to: versionsByImages(update, box.installed) }, fixes)

/** Data stays, and with it the box's own tables and the object store. */
function versionsByImages(update: CompletedUpdate, now: InstalledVersions): InstalledVersions {
  const back = Object.keys(rollbackImages(update)) as VersionedService[]
  return { ...now, ...Object.fromEntries(back.map((service) => [service, update.from[service]])) }
}
