import { type Downtime, type FenceMode, stepWord } from '../boxes/index.ts'
import { bytesText, duration, shortDigests } from '../kit/index.ts'
import type { ActionStatus, RolloutAction } from './action.ts'
import { manifestCommand, rollbackState, type SkippedBoxes, updateSkippedCommand } from './after-rollback.ts'
import type { RequestedFence, RequestedSnapshot } from './fence-choice.ts'
import type { GateState } from './gate.ts'
import { gateText } from './gates.ts'
import { isBaking, isHeld } from './pause-reason.ts'
import { phaseOrder } from './phases.ts'
import { isRollbackStalled } from './plan-rollback-steps.ts'
import { failedStatuses, isInFlight } from './plan-steps.ts'
import type { Rollout, RolloutStatus, StillAsked } from './rollout.ts'

// Names and colours of states in every view of a rollout.

/** Done, failed, running, waiting, and what does not apply: terminals have a colour for each, the console an icon too. */
export type Tint = 'green' | 'red' | 'cyan' | 'yellow' | 'dim'

const rolloutTints: Partial<Record<RolloutStatus, Tint>> = {
  done: 'green',
  paused: 'yellow',
  failed: 'red',
  rolled_back: 'red',
  queued: 'dim',
}
/** Running phases are cyan. */
const rolloutTint = (status: RolloutStatus): Tint => rolloutTints[status] ?? 'cyan'

export const statusWord = (status: RolloutStatus | ActionStatus): string => status.replaceAll('_', ' ')
const rolloutWords: Partial<Record<RolloutStatus, string>> = { rolled_back: 'rolled back', failed: 'aborted' }
/** Phases keep the name that commands use. Only an abort ends a rollout as `failed`. */
export const rolloutWord = (status: RolloutStatus): string => rolloutWords[status] ?? status

const isRunningPhase = (status: RolloutStatus): boolean => (phaseOrder.staged as readonly string[]).includes(status)
/** `paused: lunch`. The default reason of an abort names the act already. */
export const stopText = (status: RolloutStatus, reason: string | undefined): string =>
  reason === undefined ? rolloutWord(status) : /^aborted by /.test(reason) ? reason : `${rolloutWord(status)}: ${reason}`

/**
 * The status in a sentence; a bare phase name reads as incomplete. `done (23 updated, 1 skipped)` where boxes were left out. A rollback of
 * boxes comes before the end of the rollout itself, whose status it does not change.
 */
export function rolloutState({ status, counts, bakeUntil }: Pick<Rollout, 'status' | 'counts' | 'bakeUntil'>): string {
  if (isRunningPhase(status)) return bakeUntil ? `baking (${status})` : `in progress (${status})`
  const rollback = rollbackState(counts)
  if (rollback) return rollback
  const left = counts.leftOut
  return status === 'done' && left > 0 ? `done (${counts.succeeded} updated, ${left} skipped)` : rolloutWord(status)
}
/** Running phases are cyan, and a rollout that left boxes out is yellow. */
export function stateTint({ status, counts }: Pick<Rollout, 'status' | 'counts'>): Tint {
  if (counts.rollback) return isRollingBack(counts) ? 'yellow' : rolloutTint('rolled_back')
  return status === 'done' && counts.leftOut > 0 ? 'yellow' : rolloutTint(status)
}

/** The status of a rollback names no step. */
export const stepWordIn = ({ status }: Pick<RolloutAction, 'status'>, step: string): string =>
  stepWord(step) || (status === 'rolling_back' ? step : '')

const actionTints: Partial<Record<ActionStatus, Tint>> = {
  pending: 'dim',
  skipped: 'dim',
  cancelled: 'dim',
  succeeded: 'green',
  failed: 'red',
  rolling_back: 'yellow',
  rolled_back: 'red',
  rollback_failed: 'red',
}
export const actionTint = (status: ActionStatus): Tint => actionTints[status] ?? 'cyan'

export const isInProgress = ({ status }: Pick<RolloutAction, 'status'>): boolean => isInFlight(status)

/** A box rolled back with the rollout is not a failure; a failed rollback is. */
export const hasFailed = ({ status, rollback }: Pick<RolloutAction, 'status' | 'rollback'>): boolean =>
  rollback?.status === 'failed' || (failedStatuses.includes(status) && rollback?.status !== 'done')

/** The status of a box, its rollback included. */
export const outcomeWord = ({ status, rollback }: Pick<RolloutAction, 'status' | 'rollback'>): string => {
  if (rollback?.status === 'done') return 'rolled back'
  if (rollback?.status === 'running') return 'rolling back'
  if (status !== 'succeeded' || !rollback) return statusWord(status)
  return rollback.status === 'failed' ? 'rollback failed' : 'rollback pending'
}

const rollbackTints = { pending: 'yellow', running: 'yellow', done: 'red', failed: 'red' } as const

/** Rolled back has one colour, by an agent or with the rollout: the box does not run the version of the manifest. */
export const outcomeTint = ({ status, rollback }: Pick<RolloutAction, 'status' | 'rollback'>): Tint =>
  rollback ? rollbackTints[rollback.status] : actionTint(status)

/** Shortens digests in an error message; `--json` has them in full. */
export const withShortDigests = (error: RolloutAction['error']): RolloutAction['error'] =>
  error && { ...error, message: shortDigests(error.message) }

/** The error of the update, or of the rollback. */
export const errorOf = ({ error, rollback }: Pick<RolloutAction, 'error' | 'rollback'>): RolloutAction['error'] =>
  withShortDigests(error ?? rollback?.error ?? null)

type RollbackState = Pick<RolloutAction, 'status' | 'rollback' | 'waived'>

const isRolledBackWithRollout = ({ rollback }: Pick<RolloutAction, 'rollback'>): boolean => rollback !== null

/** Boxes are being rolled back; after a stalled box the others wait for a person. */
export function isRollingBackBoxes(actions: readonly RollbackState[]): boolean {
  const affected = actions.filter(isRolledBackWithRollout)
  if (affected.some(isInProgress)) return true
  return affected.some(({ rollback }) => rollback?.status === 'pending') && !affected.some(isRollbackStalled)
}

/** A complete command, and a label of one or two words. */
export type NextStep = Readonly<{ label: string; command: string }>

/** The commands an operator can run now, the likeliest first. `failures` are not skipped yet; a box whose rollback failed is not retried. */
export function nextSteps(
  rollout: Stepping,
  failures: readonly Pick<RolloutAction, 'tenantSlug' | 'status' | 'rollback'>[],
  skipped: SkippedBoxes,
): NextStep[] {
  const { id, status } = rollout
  const details = failures
    .slice(0, 1)
    .map(({ tenantSlug }) => ({ label: 'details', command: `tenantry rollouts show ${id} --box ${tenantSlug}` }))
  if (status === 'queued') return [{ label: 'start', command: `tenantry rollouts start ${id} --watch` }]
  const manifest = manifestStep(rollout)
  if (failures.some(isRolledBackWithRollout)) return [...details, ...rollbackSteps(id, failures), ...manifest]
  if (status === 'failed' || status === 'rolled_back')
    return [...details, ...manifest, { label: 'check drift', command: 'tenantry boxes scan' }]
  if (status === 'done' && manifest.length > 0) return manifest
  if (status === 'done' && skipped.count > 0) return [{ label: 'update skipped', command: updateSkippedCommand(skipped) }]
  if (status !== 'paused') return promoteStep(rollout)
  const abort = { label: 'abort', command: `tenantry rollouts abort ${id}` }
  const resume = `tenantry rollouts resume ${id}`
  const retry = failures.some(({ status }) => status === 'rollback_failed') ? [] : [{ label: 'retry', command: resume }]
  if (promotablePast(rollout)) return [...promoteStep(rollout), { label: 'resume', command: resume }, abort]
  const proceed =
    failures.length > 0 ? [...retry, { label: 'skip', command: `${resume} --skip-failed` }] : [{ label: 'resume', command: resume }]
  return [...details, ...proceed, abort]
}

/** `stillAsked` is unknown of a rollout that is only listed. */
type Stepping = Pick<Rollout, 'id' | 'status'> & Promotable & Readonly<{ stillAsked?: StillAsked | null }>

type Promotable = Pick<Rollout, 'status' | 'previousStatus' | 'holdAfter' | 'pauseReason' | 'bakeUntil'> & Partial<Pick<Rollout, 'gates'>>

/** `promote` skips a hold, or the bake and the gates of a phase; undefined in every other state. */
export function promotablePast(rollout: Promotable): string | undefined {
  const { status, previousStatus, holdAfter, gates = [] } = rollout
  if (status === 'paused' && isHeld(rollout)) return `hold after ${holdAfter}`
  const watching = gates.some(({ at }) => at !== null) ? 'gates' : 'bake'
  return isBaking(rollout) ? `${watching} after ${status === 'paused' ? previousStatus : status}` : undefined
}

const manifestStep = ({ stillAsked }: Pick<Stepping, 'stillAsked'>): NextStep[] =>
  stillAsked ? [{ label: 'manifest', command: manifestCommand(stillAsked) }] : []

const promoteStep = (rollout: Promotable & Pick<Rollout, 'id'>): NextStep[] =>
  promotablePast(rollout) ? [{ label: 'promote', command: `tenantry rollouts promote ${rollout.id}` }] : []

/** Lists of rollouts carry no gates. */
type Watched = Pick<Rollout, 'status' | 'bakeUntil'> & Partial<Pick<Rollout, 'gates'>>

/** The end of the bake of a phase, then its gates. */
export function bakeText({ status, bakeUntil, gates = [] }: Watched): string | undefined {
  if (!bakeUntil || !isRunningPhase(status)) return undefined
  const asked = gates.filter(({ at }) => at !== null)
  if (asked.length > 0) return `for gates after ${status}: ${asked.map(gateText).join('; ')}`
  return `until ${bakeUntil.slice(0, 19).replace('T', ' ')} UTC: bake after ${status}${gates.length > 0 ? ', then gates' : ''}`
}

/** Red where the gate stops the rollout, or would. */
export const gateTint = ({ state, onNoAnswer }: GateState): Tint =>
  state === 'unanswered' ? (onNoAnswer === 'pause' ? 'red' : 'yellow') : gateTints[state]

const gateTints = { waiting: 'dim', holding: 'cyan', passed: 'green', failed: 'red' } as const satisfies Record<
  Exclude<GateState['state'], 'unanswered'>,
  Tint
>

/** `nextSteps` for views without a board: adds watch and pause while the rollout runs. */
export function stepsWhenNotWatching(
  rollout: Stepping & Pick<Rollout, 'counts'>,
  failures: readonly Pick<RolloutAction, 'tenantSlug' | 'status' | 'rollback'>[],
  skipped: readonly string[],
): NextStep[] {
  const { id, status, counts } = rollout
  const watch = { label: 'watch', command: `tenantry rollouts watch ${id}` }
  if (isRunningPhase(status))
    return [watch, ...promoteStep(rollout), { label: 'pause', command: `tenantry rollouts pause ${id} --reason '…'` }]
  if (isRollingBack(counts) && failures.length === 0) return [watch, ...manifestStep(rollout)]
  return nextSteps(rollout, failures, { count: counts.rollback ? 0 : counts.leftOut, slugs: skipped })
}

export const isRollingBack = ({ rollback }: Rollout['counts']): boolean => rollback !== null && rollback.pending + rollback.running > 0

/** A stalled box blocks the others until a person decides. A box whose rollback failed is not retried: its state is unknown. */
function rollbackSteps(id: string, failures: readonly Pick<RolloutAction, 'status'>[]): NextStep[] {
  const rollback = `tenantry rollouts rollback ${id}`
  const retry = failures.some(({ status }) => status === 'succeeded') ? [{ label: 'retry', command: `${rollback} --resume` }] : []
  if (!failures.some(({ status }) => status === 'rollback_failed')) return retry
  return [
    { label: 'skip', command: `${rollback} --resume` },
    { label: 'stop rollback', command: `${rollback} --stop --reason '…'` },
  ]
}

/** The reason why a box waits: a pending one for a hold or its maintenance window, one in progress for its store or engine. */
export function waitOf({ status, progress }: Pick<RolloutAction, 'status' | 'progress'>): string | undefined {
  const step = status === 'pending' ? 'wait' : isInProgress({ status }) ? 'waiting' : undefined
  return progress?.step === step ? progress?.detail : undefined
}

/** The unfinished rollouts that a rollout waits for. */
export const queuedText = ({ queuedBehind }: Pick<Rollout, 'queuedBehind'>): string | undefined =>
  queuedBehind.length > 0 ? `for the end of ${queuedBehind.join(', ')}` : undefined

const fenceTexts = {
  auto: null,
  'until-stable': 'until-stable: maintenance ends after the slow probes',
  'until-proven': 'until-proven: maintenance ends after the quick probes, also where no rollback by images is proven',
  none: 'none: users see errors during the update; no data are restored once the new version runs',
} as const satisfies Record<RequestedFence, string | null>
export const fenceModes = Object.keys(fenceTexts) as RequestedFence[]

/** The trade-off of a fence mode that was requested for all boxes. */
export const fenceModeText = (mode: RequestedFence): string | null => fenceTexts[mode]

const snapshotTexts = {
  auto: null,
  before: 'before: each snapshot is stored before the new version starts',
  hot: 'hot: the database is copied while the box serves, and the copy is completed while it is stopped; the snapshot is stored from it',
} as const satisfies Record<RequestedSnapshot, string | null>
export const snapshotModes = Object.keys(snapshotTexts) as RequestedSnapshot[]

/** The trade-off of a snapshot mode that was requested for all boxes. */
export const snapshotModeText = (mode: RequestedSnapshot): string | null => snapshotTexts[mode]

/** The end of the maintenance of one box. */
export const fenceEndText = (mode: FenceMode): string =>
  ({ 'until-stable': 'when stable', 'until-proven': 'when proven', none: 'none' })[mode]

/** The known parts of a downtime, in their order. */
export function downtimeParts({
  stopMs,
  snapshotMs,
  copyMs,
  startMs,
  firstGoodMs,
  checkMs,
  snapshot,
}: Downtime): readonly (readonly [string, number])[] {
  const started = {
    stop: stopMs,
    snapshot: snapshot === 'before' || snapshot === undefined ? snapshotMs : undefined,
    copy: copyMs,
    start: startMs,
  }
  const parts = Object.entries({ ...started, 'first good probe': firstGoodMs, 'rollback check': checkMs })
  return parts.flatMap(([name, ms]) => (ms === undefined ? [] : [[name, ms] as const]))
}

/** Says when the snapshot was stored; undefined for `before` without a reason. */
export function snapshotText({ snapshot, snapshotReason, hotCopy }: Downtime): string | undefined {
  if (snapshot === 'hot') return `snapshot stored from a hot copy${hotCopy === undefined ? '' : ` (${hotCopyText(hotCopy)})`}`
  return snapshotReason === undefined ? undefined : `snapshot stored before the start: ${snapshotReason}`
}

const hotCopyText = ({ bytes, tookMs, fromLsn, endLsn }: NonNullable<Downtime['hotCopy']>): string =>
  `${bytesText(bytes)} in ${duration(tookMs)} while the box served; write-ahead log from ${fromLsn} to ${endLsn}`

/** The reason of a pause or failure, without the commands that the daemon appends; views print those on their own lines. */
export const whyOf = ({ pauseReason, error }: Pick<Rollout, 'pauseReason' | 'error'>): string | undefined =>
  (pauseReason ?? error)?.replace(/\.? Next: .*$/s, '')
