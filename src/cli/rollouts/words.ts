import type { ActionStatus, Phase, Rollout, RolloutAction, RolloutStatus } from '../../core/rollouts/index.ts'
import type { Paint } from '../kit/index.ts'

/** The phases of a staged rollout, in their order. */
export const phases = ['canary', 'free_5', 'free_100', 'pro', 'enterprise'] as const satisfies readonly Phase[]

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

/** Steps of the agent in the words of an operator; empty where the status says the same. Steps that are not here keep their name. */
const stepWords: Readonly<Record<string, string>> = {
  prefetch: 'images',
  pull: 'images',
  'warm-snapshot': 'warm snapshot',
  fence: 'fencing',
  stop: 'stopping chat and object store',
  snapshot: '',
  'cold-copy': 'copy of the database',
  rewrite: 'compose file',
  recreate: 'containers',
  migrate: 'box migrations',
  probe: '',
  unfence: 'lifting the fence',
  'restore-stop': 'stopping',
  'restore-data': 'loading the snapshot',
  'restore-start': 'starting',
  'restore-probe': 'probing',
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
export const hasEnded = (status: RolloutStatus): boolean => ended.includes(status)

const underWay: readonly ActionStatus[] = ['preflight', 'pulling', 'snapshotting', 'updating', 'probing', 'rolling_back']
export const isUnderWay = ({ status }: Pick<RolloutAction, 'status'>): boolean => underWay.includes(status)

const gone: readonly ActionStatus[] = ['failed', 'rolled_back', 'rollback_failed']
export const hasFailed = ({ status }: Pick<RolloutAction, 'status'>): boolean => gone.includes(status)

/** A command as it is typed, and in a word or two what it does. */
export type NextStep = Readonly<{ does: string; type: string }>

/** Exactly what an operator can type now; the likeliest first. `failures` are those that nobody left out yet; a box whose restore failed is not tried again. */
export function nextSteps(
  { id, status }: Pick<Rollout, 'id' | 'status'>,
  failures: readonly Pick<RolloutAction, 'tenantSlug' | 'status'>[],
): NextStep[] {
  const closer = failures
    .slice(0, 1)
    .map(({ tenantSlug }) => ({ does: 'look closer', type: `tenantry rollouts show ${id} --box ${tenantSlug}` }))
  if (status === 'queued') return [{ does: 'start it', type: `tenantry rollouts start ${id} --watch` }]
  if (status === 'failed' || status === 'rolled_back') return [...closer, { does: 'see drift', type: 'tenantry boxes scan' }]
  if (status !== 'paused') return []
  const resume = `tenantry rollouts resume ${id}`
  const again = failures.some(({ status }) => status === 'rollback_failed') ? [] : [{ does: 'try again', type: resume }]
  const onward =
    failures.length > 0 ? [...again, { does: 'leave out', type: `${resume} --skip-failed` }] : [{ does: 'go on', type: resume }]
  return [...closer, ...onward, { does: 'end it', type: `tenantry rollouts abort ${id}` }]
}

/** 7 ended badly, 8 paused (what scripts branch on). */
export const exitOfRollout = ({ status }: { status: RolloutStatus }): 0 | 7 | 8 =>
  status === 'failed' || status === 'rolled_back' ? 7 : status === 'paused' ? 8 : 0

/** Why it rests or ended. The daemon's sentence ends with commands for mails and logs; here they stand on lines of their own. */
export const whyOf = ({ pauseReason, error }: Pick<Rollout, 'pauseReason' | 'error'>): string | undefined =>
  (pauseReason ?? error)?.replace(/\.? Next: .*$/s, '')
