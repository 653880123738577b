import { shortDigests } from '../../core/kit/index.ts'
import type { ActionStatus, FenceMode, Phase, Rollout, RolloutAction, RolloutStatus } from '../../core/rollouts/index.ts'
import type { Paint } from '../kit/index.ts'

/** The phases of a staged rollout, in their order. */
export const phases = ['canary', 'free_5', 'free_100', 'pro', 'enterprise'] as const satisfies readonly Phase[]
/** Those of an emergency, in theirs. */
export const emergencyPhases = ['pro', 'enterprise', 'free_100'] as const satisfies readonly Phase[]

// How states are named and coloured wherever a rollout is shown.

type Tint = keyof Paint

const rolloutTints: Partial<Record<RolloutStatus, Tint>> = {
  done: 'green',
  paused: 'yellow',
  failed: 'red',
  rolled_back: 'red',
  queued: 'dim',
}
/** Phases that run are cyan. */
export const rolloutTint = (status: RolloutStatus): Tint => rolloutTints[status] ?? 'cyan'

export const statusWord = (status: RolloutStatus | ActionStatus): string => status.replaceAll('_', ' ')
/** Phases keep their name: it is what is typed. */
export const rolloutWord = (status: RolloutStatus): string => (status === 'rolled_back' ? 'rolled back' : status)

const isRunningPhase = (status: RolloutStatus): boolean => (phases as readonly string[]).includes(status)
/** In a sentence; a phase by itself reads as if something were missing. */
export const rolloutState = (status: RolloutStatus): string => (isRunningPhase(status) ? `under way in ${status}` : rolloutWord(status))

/** Steps of the agent in the words of an operator; empty where the status says the same. Steps that are not here keep their name. */
const stepWords: Readonly<Record<string, string>> = {
  pull: 'images',
  prefetch: 'images once more',
  'warm-snapshot': 'warm snapshot',
  fence: 'fencing',
  stop: 'stopping chat and object store',
  snapshot: '',
  'cold-copy': 'copy of the database',
  rewrite: 'compose file',
  recreate: 'containers',
  migrate: 'box migrations',
  serve: 'starting the chat',
  'first-ok': 'first good probe',
  probe: '',
  unfence: 'lifting the fence',
  'restore-stop': 'stopping',
  'restore-data': 'loading the snapshot',
  'restore-start': 'starting',
  'restore-probe': 'probing',
  // A box that goes back by its snapshot is restored.
  fetch: 'fetching the snapshot',
  keep: 'keeping what is there now',
  load: 'loading the snapshot',
  switch: 'changing over',
  start: 'starting',
  'back-stop': 'back again: stopping',
  'back-switch': 'back again: changing over',
  'back-start': 'back again: starting',
  'back-probe': 'back again: probing',
}
export const stepWord = (step: string): string => stepWords[step] ?? step.replaceAll('-', ' ')

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

const ended: readonly RolloutStatus[] = ['done', 'failed', 'rolled_back']
export const isFinished = (status: RolloutStatus): boolean => ended.includes(status)

const underWay: readonly ActionStatus[] = ['preflight', 'pulling', 'snapshotting', 'updating', 'probing', 'rolling_back']
export const isUnderWay = ({ status }: Pick<RolloutAction, 'status'>): boolean => underWay.includes(status)

const gone: readonly ActionStatus[] = ['failed', 'rolled_back', 'rollback_failed']
/** What was to be brought back and was is no failure; what was not is one. */
export const hasFailed = ({ status, undo }: Pick<RolloutAction, 'status' | 'undo'>): boolean =>
  undo?.status === 'failed' || (gone.includes(status) && undo?.status !== 'undone')

/** Where a box stands, its way back included. */
export const outcomeWord = ({ status, undo }: Pick<RolloutAction, 'status' | 'undo'>): string => {
  if (undo?.status === 'undone') return 'brought back'
  if (undo?.status === 'running') return 'going back'
  if (status !== 'succeeded' || !undo) return statusWord(status)
  return undo.status === 'failed' ? 'not brought back' : 'to be brought back'
}

export const outcomeTint = (action: Pick<RolloutAction, 'status' | 'undo'>): Tint =>
  action.undo?.status === 'undone' ? 'green' : action.undo?.status === 'failed' ? 'red' : actionTint(action.status)

/** An error as a person reads it; `--json` has its digests whole. */
export const withShortDigests = (error: RolloutAction['error']): RolloutAction['error'] =>
  error && { ...error, message: shortDigests(error.message) }

/** Why it failed, or why it could not be brought back. */
export const errorOf = ({ error, undo }: Pick<RolloutAction, 'error' | 'undo'>): RolloutAction['error'] =>
  withShortDigests(error ?? undo?.error ?? null)

type Undone = Pick<RolloutAction, 'status' | 'undo' | 'waived'>

/** A box that came to rest on its way back, and that nobody has passed over yet: the engine's rule, which is not loaded for help's sake. */
const isRollbackStalled = ({ status, undo, waived }: Undone): boolean => status === 'rollback_failed' && undo !== null && !waived

/** Its boxes are being brought back; where one came to rest on its way, the others wait for a person. */
export function isRollingBackBoxes(actions: readonly Undone[]): boolean {
  const undone = actions.filter(({ undo }) => undo !== null)
  if (undone.some(isUnderWay)) return true
  return undone.some(({ undo }) => undo?.status === 'pending') && !undone.some(isRollbackStalled)
}

/** A command as it is typed, and in a word or two what it does. */
export type NextStep = Readonly<{ does: string; type: string }>

/** Exactly what an operator can type now; the likeliest first. `failures` are those that nobody left out yet; a box whose restore failed is not tried again. */
export function nextSteps(
  { id, status }: Pick<Rollout, 'id' | 'status'>,
  failures: readonly Pick<RolloutAction, 'tenantSlug' | 'status' | 'undo'>[],
): NextStep[] {
  const closer = failures
    .slice(0, 1)
    .map(({ tenantSlug }) => ({ does: 'look closer', type: `tenantry rollouts show ${id} --box ${tenantSlug}` }))
  if (status === 'queued') return [{ does: 'start it', type: `tenantry rollouts start ${id} --watch` }]
  if (failures.some(({ undo }) => undo !== null)) return [...closer, ...rollbackSteps(id, failures)]
  if (status === 'failed' || status === 'rolled_back') return [...closer, { does: 'see drift', type: 'tenantry boxes scan' }]
  if (status !== 'paused') return []
  const resume = `tenantry rollouts resume ${id}`
  const again = failures.some(({ status }) => status === 'rollback_failed') ? [] : [{ does: 'try again', type: resume }]
  const onward =
    failures.length > 0 ? [...again, { does: 'leave out', type: `${resume} --skip-failed` }] : [{ does: 'go on', type: resume }]
  return [...closer, ...onward, { does: 'end it', type: `tenantry rollouts abort ${id}` }]
}

/** For whoever does not watch it: while it runs there is that too, and a way to hold it. */
export function stepsWhenNotWatching(
  rollout: Pick<Rollout, 'id' | 'status' | 'counts'>,
  failures: readonly Pick<RolloutAction, 'tenantSlug' | 'status' | 'undo'>[],
): NextStep[] {
  const { id, status, counts } = rollout
  const watch = { does: 'watch it', type: `tenantry rollouts watch ${id}` }
  if (isRunningPhase(status)) return [watch, { does: 'hold it', type: `tenantry rollouts pause ${id} --reason '…'` }]
  const goesBack = counts.undo !== null && counts.undo.pending + counts.undo.running > 0
  return goesBack && failures.length === 0 ? [watch] : nextSteps(rollout, failures)
}

/**
 * A box at rest keeps the others waiting until somebody says how it goes on. One that is neither as before nor as updated is not tried again: what
 * runs in it nobody knows.
 */
function rollbackSteps(id: string, failures: readonly Pick<RolloutAction, 'status'>[]): NextStep[] {
  const undo = `tenantry rollouts undo ${id}`
  const again = failures.some(({ status }) => status === 'succeeded') ? [{ does: 'try again', type: `${undo} --resume` }] : []
  if (!failures.some(({ status }) => status === 'rollback_failed')) return again
  return [
    { does: 'without it', type: `${undo} --resume` },
    { does: 'leave the rest', type: `${undo} --stop --reason '…'` },
  ]
}

/** What scripts branch on when they wait for boxes to be brought back: 1 when one was not, 8 when it stands still until a person decides. */
export const exitOfRollback = ({ counts: { undo } }: Pick<Rollout, 'counts'>): 0 | 1 | 8 =>
  undo && undo.pending + undo.running > 0 ? 8 : undo && undo.failed > 0 ? 1 : 0

/** For what a box waits that has not begun: somebody who holds it, or its maintenance window. */
export const waitOf = ({ status, progress }: Pick<RolloutAction, 'status' | 'progress'>): string | undefined =>
  status === 'pending' && progress?.step === 'wait' ? progress.detail : undefined

const fenceTexts = {
  'until-stable': null,
  'until-first-ok': 'lifted after the first good probe: what turns sick then stays on the new version until you decide',
  none: 'none: chats see errors while a box is updated, and nothing goes back once the new version runs',
} as const satisfies Record<FenceMode, string | null>
export const fenceModes = Object.keys(fenceTexts) as FenceMode[]

/** What an operator gave up for chats that are back earlier; nothing for the usual way. */
export const fenceModeText = (mode: FenceMode): string | null => fenceTexts[mode]

/** 7 ended badly, 8 paused (what scripts branch on). */
export const exitOfRollout = ({ status }: { status: RolloutStatus }): 0 | 7 | 8 =>
  status === 'failed' || status === 'rolled_back' ? 7 : status === 'paused' ? 8 : 0

/** Why it rests or ended. The daemon's sentence ends with commands for mails and logs; here they stand on lines of their own. */
export const whyOf = ({ pauseReason, error }: Pick<Rollout, 'pauseReason' | 'error'>): string | undefined =>
  (pauseReason ?? error)?.replace(/\.? Next: .*$/s, '')
