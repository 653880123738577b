import { canRollBackByImages, type Downtime, type ProbeResult, type UpdateStep } from '../../core/boxes/index.ts'
import type { JournalEntry } from '../journal/index.ts'
import { isHot, type UpdateRun } from './update-run.ts'

/** The parts of an update's downtime, from its journal. A step that was interrupted counts from its last begin. */
export function downtimeOf(run: UpdateRun): Downtime {
  const { databaseBytes } = run.evidence().prefetch ?? {}
  const entries = run.entries()
  const parts = {
    stopMs: stepMs(entries, 'stop'),
    snapshotMs: stepMs(entries, 'snapshot'),
    copyMs: stepMs(entries, 'cold-copy'),
    upgradeMs: stepMs(entries, 'upgrade'),
    startMs: sum(stepMs(entries, 'recreate'), stepMs(entries, 'serve')),
    firstGoodMs: firstGoodMs(entries),
    checkMs: stepMs(entries, 'check-rollback'),
    copyingMs: run.evidence()['cold-copy']?.copiedMs ?? run.evidence().snapshot?.copy?.copiedMs,
  }
  return {
    ...appliedMode(run),
    ...appliedSnapshot(run),
    ...(databaseBytes === undefined ? {} : { databaseBytes }),
    ...Object.fromEntries(Object.entries(parts).flatMap(([name, ms]) => (ms === undefined ? [] : [[name, Math.round(ms)]]))),
  }
}

/** A box that was to be opened early stays closed where no rollback by images is proven. */
function appliedMode({ payload: { fence }, facts }: UpdateRun): Pick<Downtime, 'mode' | 'reason'> {
  const check = canRollBackByImages(facts())
  if (fence.mode !== 'until-proven' || fence.isForced || check?.possible !== false) return { mode: fence.mode }
  return { mode: 'until-stable', ...(check.reason === undefined ? {} : { reason: check.reason }) }
}

function appliedSnapshot(run: UpdateRun): Pick<Downtime, 'snapshot' | 'snapshotReason' | 'hotCopy'> {
  const { 'cold-copy': copy, 'hot-copy': base } = run.evidence()
  const snapshotReason = isHot(run) ? copy?.skipped : run.payload.fence.snapshotReason
  if (snapshotReason !== undefined) return { snapshot: 'before', snapshotReason }
  if (!isHot(run)) return { snapshot: 'before' }
  if (copy?.endLsn === undefined || !base || 'skipped' in base) return { snapshot: 'hot' }
  const { bytes, tookMs, fromLsn } = base
  return { snapshot: 'hot', hotCopy: { bytes, tookMs, fromLsn, endLsn: copy.endLsn } }
}

function stepMs(entries: readonly JournalEntry[], step: UpdateStep): number | undefined {
  const done = entries.findLastIndex((entry) => entry.step === step && entry.mark === 'done')
  const begun = entries.slice(0, Math.max(0, done)).findLast((entry) => entry.step === step && entry.mark === 'intent')
  return done < 0 || !begun ? undefined : (entries[done] as JournalEntry).elapsedMs - begun.elapsedMs
}

const sum = (...parts: readonly (number | undefined)[]): number | undefined => {
  const known = parts.filter((part) => part !== undefined)
  return known.length === 0 ? undefined : known.reduce((all, part) => all + part, 0)
}

function firstGoodMs(entries: readonly JournalEntry[]): number | undefined {
  const started = entries.findLast(({ step, mark }) => (step === 'recreate' || step === 'serve') && mark === 'done')
  const good = entries.find(
    ({ step, mark, data }) =>
      mark === 'note' &&
      (step === 'quick-probe' || step === 'snapshot' || step === 'probe') &&
      (data as { probe?: ProbeResult }).probe?.verdict === 'ok',
  )
  return started && good ? Math.max(0, good.elapsedMs - started.elapsedMs) : undefined
}
