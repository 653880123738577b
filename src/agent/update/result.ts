import { rm } from 'node:fs/promises'
import {
  isLeftOpen,
  isRolledBackByImages,
  isTouched,
  type UpdateFacts,
  type UpdateOutcome,
  type UpdateResult,
  updateOutcome,
} from '../../core/boxes/index.ts'
import { isoIn } from '../../core/kit/index.ts'
import { commonResult, errorOf, failureLogs, formerCompose, removeFailureLogs, removeLeftover } from '../change/index.ts'
import type { FormerDatabase } from '../ports/index.ts'
import { downtimeOf } from './downtime.ts'
import { stopDumpServer } from './dump-server.ts'
import { endBackup } from './hot-copy.ts'
import {
  type Before,
  beforeOf,
  coldVolume,
  copiedFolder,
  isHot,
  isUpgrade,
  nextVolume,
  restoredVolumes,
  storedSnapshot,
  type UpdateRun,
} from './update-run.ts'
import { removeNextServer } from './upgrade.ts'

/** Builds the result with all its evidence, then removes what is left over. */
export async function closeUpdate(run: UpdateRun, facts: UpdateFacts): Promise<UpdateResult> {
  const result = await resultFrom(run, facts)
  const { outcome } = result
  // A rollback by images keeps the data, and with them the migrations.
  const isMigrated = outcome === 'committed' || isLeftOpen(facts) || keepsData(run, facts)
  const { migrationsHead } = run.payload.targets
  await endBackup(run)
  if (isUpgrade(run)) await removeNextServer(run).catch(() => undefined)
  if (isHot(run)) await stopDumpServer(run).catch(() => undefined)
  if (outcome === 'rollback_failed') return result
  await removeLeftover(run, {
    volumes: isRolledBackByImages(facts) ? [coldVolume(run)] : unusedVolumes(run, outcome),
    former: keptDatabase(run, facts),
    // An operator who decides about a box that was left open may need its former images.
    keepImages: isLeftOpen(facts),
    ...(isMigrated ? { migrationsHead } : {}),
  })
  await rm(copiedFolder(run), { recursive: true, force: true }).catch(() => undefined)
  await removeFailureLogs(run).catch(() => undefined)
  return result
}

/** The former images run on the data that the new version left. */
const keepsData = (run: UpdateRun, facts: UpdateFacts): boolean =>
  isRolledBackByImages(facts) || run.evidence()['restore-data']?.from === 'data'

async function resultFrom(run: UpdateRun, facts: UpdateFacts): Promise<UpdateResult> {
  const outcome = updateOutcome(facts)
  const { prefetch, rewrite } = run.evidence()
  const snapshot = storedSnapshot(run)
  const [common, logs] = [await commonResult(run), await failureLogs(run)]
  return {
    outcome,
    snapshotOk: facts.done.has('snapshot'),
    updateOk: facts.done.has('recreate'),
    healthOk: outcome === 'committed',
    rolledBack: outcome === 'rolled_back',
    ...(outcome === 'rolled_back' ? { rolledBackBy: keepsData(run, facts) ? 'images' : 'snapshot' } : {}),
    ...(isLeftOpen(facts) ? { leftOpen: true } : {}),
    snapshotId: snapshot?.snapshotId ?? null,
    snapshotSha256: snapshot?.manifestSha256 ?? null,
    ...(dataAt(run) === undefined ? {} : { snapshotTakenAt: dataAt(run) }),
    ...common,
    digestsBefore: digests(prefetch?.containers),
    digestsAfter: digests(common.report?.services),
    composeBackup: rewrite?.backup ?? null,
    ...restoredDatabase(run),
    downtime: downtimeOf(run),
    ...(logs && outcome !== 'committed' ? { logs } : {}),
    error: outcome === 'committed' ? null : errorOf('update', facts, remark(run, facts, await isComposeLost(run))),
  }
}

/** The moment of the snapshot, or of the copy that was restored before there was one. */
const dataAt = (run: UpdateRun): string | undefined =>
  storedSnapshot(run)?.takenAt ?? (restoredDatabase(run).restored ? run.evidence()['cold-copy']?.at : undefined)

/** How the database was restored; absent where it was not. */
function restoredDatabase(run: UpdateRun): Pick<UpdateResult, 'restored'> {
  const { 'restore-data': restored, 'cold-copy': copy } = run.evidence()
  if (restored?.from === undefined || restored.from === 'data') return {}
  const copied = copy?.copiedMs === undefined ? {} : { copiedMs: Math.round(copy.copiedMs) }
  return { restored: { from: restored.from, tookMs: Math.round(restored.tookMs), ...copied } }
}

const digests = (services: Readonly<Record<string, { digest: string | null } | undefined>> = {}): Record<string, string | null> =>
  Object.fromEntries(Object.entries(services).map(([service, facts]) => [service, facts?.digest ?? null]))

function remark(run: UpdateRun, facts: UpdateFacts, isComposeLost: boolean): string | undefined {
  if (isLeftOpen(facts)) return leftOpen(run)
  if (keepsData(run, facts)) return `${run.box.slug} was rolled back to its former images and keeps all data`
  if (isTouched(facts)) return undefined
  const untouched = 'no container was replaced and no data was touched'
  return isComposeLost ? `${untouched}; ${composeLost(run)}` : untouched
}

/** The former compose file was replaced, and neither it nor its backup exists. */
async function isComposeLost(run: UpdateRun): Promise<boolean> {
  if (!run.evidence().rewrite) return false
  return (await formerCompose(run, beforeOf(run).composeSha256).catch(() => undefined)) === undefined
}

const composeLost = ({ box: { project } }: UpdateRun): string =>
  `the backup of ${project.composeFile} is gone as well, so the former file is not restored. ` +
  `fix: write ${project.composeFile} again as the containers run (docker compose -p ${project.name} ps), then \`tenantry boxes scan\``

function leftOpen(run: UpdateRun): string {
  const { slug } = run.box
  const { 'confirm-rollback': rollback } = run.evidence()
  const taken = storedSnapshot(run)
  const why = rollback?.reason === undefined ? '' : ` (no rollback by images: ${rollback.reason})`
  const restores = taken
    ? `\`tenantry snapshots restore ${slug} --snapshot ${taken.snapshotId.slice(0, 8)} --reason <why>\` restores it; data written since is lost`
    : `no snapshot was stored, but the volume ${coldVolume(run)} of its host is a copy of the former database: keep it until the box is well`
  return (
    `${slug} is open to its users on the new version, so it is not rolled back automatically: what they write would be lost${why}. ` +
    `fix: \`tenantry boxes check ${slug}\` shows its health; ${restores}`
  )
}

/** The volume of the former major version, once the new one has taken its place. */
function keptDatabase(run: UpdateRun, facts: UpdateFacts): FormerDatabase | undefined {
  const { upgrade: order } = run.payload.fence
  const { prefetch } = run.evidence()
  if (!order || !prefetch?.upgrade || (updateOutcome(facts) !== 'committed' && !isLeftOpen(facts))) return undefined
  const until = isoIn(run.deps.clock, order.keepFormerDays * 86_400_000)
  return { volume: prefetch.database.volume, version: prefetch.upgrade.facts.version, until }
}

/** The copy, and the volume of the new version where the box does not run on it. */
function unusedOfUpgrade(run: UpdateRun, { database }: Before, outcome: UpdateOutcome): string[] {
  const isTaken = outcome === 'committed' || isLeftOpen(run.facts())
  return [coldVolume(run), ...(isTaken ? [] : [nextVolume(run, database.volume)])]
}

/** All volumes of this update except the one that serves. */
function unusedVolumes(run: UpdateRun, outcome: UpdateOutcome): string[] {
  const { prefetch, 'restore-data': restored } = run.evidence()
  // A box that was left open before its snapshot was stored: the copy is all that is left of the former data.
  if (isLeftOpen(run.facts()) && !storedSnapshot(run)) return []
  if (isUpgrade(run) && prefetch) return unusedOfUpgrade(run, prefetch, outcome)
  if (outcome !== 'rolled_back') return prefetch ? [coldVolume(run)] : []
  const tries = restoredVolumes(run)
  const serving = restored?.volume ?? tries.at(-1)
  return [beforeOf(run).database.volume, ...tries].filter((volume) => volume !== serving)
}
