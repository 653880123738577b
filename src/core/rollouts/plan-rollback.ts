import { z } from 'zod'
import type { InstalledVersions, VersionedService } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { spanMs } from '../kit/index.ts'
import { RollbackMode } from './action.ts'
import type { Finding } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { ActiveRollout } from './plan.ts'
import { isRefused } from './preflight.ts'
import { type CompletedUpdate, PlannedRollback } from './rollback.types.ts'
import { imageRollbackFindings, rollbackImages } from './rollback-by-images.ts'
import {
  boxFindings,
  type Fixes,
  isAlreadyBack,
  type RollbackTarget,
  snapshotFindings,
  vulnerabilityFindings,
} from './rollback-findings.ts'

/** The rollback of a rollout, box by box in order: the box that was updated last comes first. */
export const RollbackPlan = z.object({
  rolloutId: z.string(),
  mode: RollbackMode,
  madeAt: Timestamp,
  boxes: z.array(PlannedRollback),
  rollbacks: z.number().int(),
  refusals: z.number().int(),
  /** Only of a finished rollout: the unfinished ones with boxes of this plan, which refuse the rollback. */
  activeRollouts: z.array(ActiveRollout).optional(),
})
export type RollbackPlan = z.infer<typeof RollbackPlan>

type RollbackLimits = Limits & Readonly<{ fixes: Fixes }>

type RollbackInput = RollbackLimits &
  Readonly<{
    rolloutId: string
    mode: RollbackMode
    updates: readonly CompletedUpdate[]
    /** By slug, as they are now. */
    boxes: ReadonlyMap<string, KnownBox>
  }>

/** Plans the rollback of a rollout. Each box is checked again right before its rollback. */
export function planRollback({ rolloutId, mode, updates, boxes, ...limits }: RollbackInput): RollbackPlan {
  const planned = updates.toSorted(newestFirst).map((update) => planBoxRollback({ mode, update, box: boxes.get(update.slug) }, limits))
  const count = (wanted: PlannedRollback['does']) => planned.filter(({ does }) => does === wanted).length
  return { rolloutId, mode, madeAt: limits.now, boxes: planned, rollbacks: count('rollback'), refusals: count('refuse') }
}

type InOrder = Readonly<{ slug: string; finishedAt: string | null }>

/** By slug where two updates ended at the same time. */
export const newestFirst = (a: InOrder, b: InOrder): number => {
  const [one, other] = [`${a.finishedAt ?? ''} ${a.slug}`, `${b.finishedAt ?? ''} ${b.slug}`]
  return one < other ? 1 : -1
}

/** How one box would be rolled back, and its findings; for the plan, and again right before the rollback. */
export function planBoxRollback(
  { mode, update, box }: Readonly<{ mode: RollbackMode; update: CompletedUpdate; box: KnownBox | undefined }>,
  limits: RollbackLimits,
): PlannedRollback {
  const byImages = mode === 'images'
  const isBack = box !== undefined && isAlreadyBack(mode, update, box)
  const to = byImages ? versionsByImages(update, box?.installed ?? update.to) : update.from
  const findings = isBack
    ? []
    : [...boxFindings({ mode, update, box }, limits), ...(box ? findingsOf({ mode, update, box: { ...box, to } }, limits) : [])]
  const lost = byImages || isBack ? null : (update.snapshot?.takenAt ?? null)
  return {
    tenantSlug: update.slug,
    boxId: update.boxId,
    hostId: box?.hostId ?? update.hostId,
    hostName: box?.hostName ?? update.hostId,
    does: isBack ? 'skip' : isRefused(findings) ? 'refuse' : 'rollback',
    from: box?.installed ?? update.to,
    to,
    images: byImages ? rollbackImages(update) : {},
    snapshotId: byImages ? null : (update.snapshot?.snapshotId ?? null),
    losesSince: lost,
    losesMs: lost === null ? 0 : spanMs(lost, limits.now),
    findings,
  }
}

const findingsOf = (
  { mode, update, box }: Readonly<{ mode: RollbackMode; update: CompletedUpdate; box: RollbackTarget }>,
  limits: RollbackLimits,
): Finding[] => [
  ...vulnerabilityFindings(box, limits.fixes),
  ...(mode === 'images' ? imageRollbackFindings(update, box, limits) : snapshotFindings(update)),
]

/** Checked again after the pull: an emergency may have started meanwhile. */
export const imageRollbackVulnerabilities = (update: CompletedUpdate, box: KnownBox, fixes: Fixes): Finding[] =>
  vulnerabilityFindings({ ...box, to: versionsByImages(update, box.installed) }, fixes)

/** The data stays, and with it the migrations head and the object store. */
function versionsByImages(update: CompletedUpdate, now: InstalledVersions): InstalledVersions {
  const back = Object.keys(rollbackImages(update)) as VersionedService[]
  return { ...now, ...Object.fromEntries(back.map((service) => [service, update.from[service]])) }
}
