import { isLeftOpen, isTouched, type UpdateFacts, type UpdateOutcome, type UpdateResult, updateOutcome } from '../../core/boxes/index.ts'
import { commonResult, errorOf, removeLeftover } from '../change/index.ts'
import { beforeOf, coldVolume, restoredVolumes, type UpdateRun } from './update-run.ts'

/** The result with all its evidence, after which what is left behind is cleared. */
export async function close(run: UpdateRun, facts: UpdateFacts): Promise<UpdateResult> {
  const result = await sumUp(run, facts)
  const { outcome } = result
  const committed = outcome === 'committed' || isLeftOpen(facts)
  const { migrationsHead } = run.payload.targets
  if (outcome !== 'rollback_failed')
    await removeLeftover(run, {
      volumes: uselessVolumes(run, outcome),
      // Whoever decides about a box that was left open may want its former images.
      keepImages: isLeftOpen(facts),
      ...(committed ? { migrationsHead } : {}),
    })
  return result
}

async function sumUp(run: UpdateRun, facts: UpdateFacts): Promise<UpdateResult> {
  const outcome = updateOutcome(facts)
  const { prefetch, snapshot, rewrite } = run.evidence()
  const common = await commonResult(run)
  return {
    outcome,
    snapshotOk: facts.done.has('snapshot'),
    updateOk: outcome === 'committed' || isLeftOpen(facts),
    healthOk: outcome === 'committed',
    rolledBack: outcome === 'rolled_back',
    ...(isLeftOpen(facts) ? { leftOpen: true } : {}),
    snapshotId: snapshot?.snapshotId ?? null,
    snapshotSha256: snapshot?.manifestSha256 ?? null,
    ...(snapshot?.takenAt === undefined ? {} : { snapshotTakenAt: snapshot.takenAt }),
    ...common,
    digestsBefore: digests(prefetch?.containers),
    digestsAfter: digests(common.report?.services),
    composeBackup: rewrite?.backup ?? null,
    ...databaseBack(run),
    error: outcome === 'committed' ? null : errorOf('update', facts, remark(run, facts)),
  }
}

/** Of the try that came through; earlier agents wrote down nothing of it. */
function databaseBack(run: UpdateRun): Pick<UpdateResult, 'restored'> {
  const { 'restore-data': back, 'cold-copy': copy } = run.evidence()
  if (back?.from === undefined) return {}
  const copied = copy?.copiedMs === undefined ? {} : { copiedMs: Math.round(copy.copiedMs) }
  return { restored: { from: back.from, tookMs: Math.round(back.tookMs), ...copied } }
}

const digests = (services: Readonly<Record<string, { digest: string | null } | undefined>> = {}): Record<string, string | null> =>
  Object.fromEntries(Object.entries(services).map(([service, facts]) => [service, facts?.digest ?? null]))

function remark(run: UpdateRun, facts: UpdateFacts): string | undefined {
  if (isLeftOpen(facts)) return leftOpen(run)
  return isTouched(facts) ? undefined : 'no container was replaced and no data was touched'
}

function leftOpen({ box: { slug }, evidence }: UpdateRun): string {
  const snapshot = evidence().snapshot?.snapshotId.slice(0, 8)
  return (
    `${slug} is open to its users on the new version, so nothing goes back by itself: what they write would be lost. An operator must decide: ` +
    `\`tenantry boxes check ${slug}\` shows how it is now; \`tenantry snapshots restore ${slug} --snapshot ${snapshot} --reason <why>\` brings it back as it was, without what was written since`
  )
}

/** Both databases, all tries and the cold copy but the one that serves; before anything was found out none was made. */
function uselessVolumes(run: UpdateRun, outcome: UpdateOutcome): string[] {
  const { prefetch, 'restore-data': restored } = run.evidence()
  if (outcome !== 'rolled_back') return prefetch ? [coldVolume(run)] : []
  const tries = restoredVolumes(run)
  const kept = restored?.volume ?? tries.at(-1)
  return [beforeOf(run).database.volume, ...tries].filter((volume) => volume !== kept)
}
