import { z } from 'zod'
import { type ProblemCode, problem } from '../kit/index.ts'

export const InstallationStatus = z.enum(['installed', 'active', 'deactivated', 'pending_deletion', 'deleted'])
export type InstallationStatus = z.infer<typeof InstallationStatus>

/** Data of a module is deleted this long after it was deactivated or uninstalled. */
const retentionDays = 30

export type InstallationState = Readonly<{
  status: InstallationStatus
  /** An active module that runs nothing; retention does not begin. */
  paused: boolean
  /** ISO 8601. */
  dataDeleteAt: string | null
}>

export const installationVerbs = [
  'install',
  'activate',
  'deactivate',
  'pause',
  'resume',
  'delete',
  'cleanup',
  'update',
  'rollback',
] as const
export type InstallationVerb = (typeof installationVerbs)[number]

/** Stored events of a transition; each is also an audit entry of the same type. */
export type InstallationEvent =
  | 'module.installed'
  | 'module.activated'
  | 'module.deactivated'
  | 'module.updated'
  | 'module.rolled_back'
  | 'module.paused'
  | 'module.resumed'
  | 'module.uninstalled'
  | 'module.data_deleted'

type Outcome = Readonly<{ to: InstallationStatus; emits?: readonly InstallationEvent[] }> | 'unchanged' | ProblemCode

const installs: Outcome = { to: 'installed', emits: ['module.installed'] }
const activates: Outcome = { to: 'active', emits: ['module.activated'] }
const uninstalls: Outcome = { to: 'pending_deletion', emits: ['module.uninstalled'] }
/** The version changes, the state does not. */
const updates = { update: ['module.updated'], rollback: ['module.rolled_back'] } as const
const cleansUp: Outcome = { to: 'deleted', emits: ['module.data_deleted'] }

/** Spec 3.1. A missing verb is INVALID_TRANSITION. `none`: never installed. */
const table: Readonly<Record<InstallationStatus | 'none', Partial<Record<InstallationVerb, Outcome>>>> = {
  none: {
    install: installs,
    ...{ activate: 'NOT_FOUND', deactivate: 'NOT_FOUND', update: 'NOT_FOUND', rollback: 'NOT_FOUND' },
    ...{ pause: 'NOT_FOUND', resume: 'NOT_FOUND', delete: 'NOT_FOUND' },
  },
  installed: {
    install: 'ALREADY_INSTALLED',
    activate: activates,
    update: { to: 'installed', emits: updates.update },
    rollback: { to: 'installed', emits: updates.rollback },
    delete: uninstalls,
  },
  active: {
    install: 'ALREADY_INSTALLED',
    activate: 'unchanged',
    deactivate: { to: 'deactivated', emits: ['module.deactivated'] },
    update: { to: 'active', emits: updates.update },
    rollback: { to: 'active', emits: updates.rollback },
    pause: { to: 'active', emits: ['module.paused'] },
    resume: { to: 'active', emits: ['module.resumed'] },
    delete: { to: 'pending_deletion', emits: ['module.deactivated', 'module.uninstalled'] },
  },
  deactivated: { install: 'ALREADY_INSTALLED', activate: activates, deactivate: 'unchanged', delete: uninstalls, cleanup: cleansUp },
  pending_deletion: { install: installs, delete: 'unchanged', cleanup: cleansUp },
  deleted: { install: installs },
}

export type InstallationChange = Readonly<{
  state: InstallationState
  changed: boolean
  /** Stored and audited in this order, in the transaction of the change. */
  emits: readonly InstallationEvent[]
}>

/**
 * The installation after a verb. `now`: ISO 8601. Throws NOT_FOUND, ALREADY_INSTALLED, RETENTION_EXPIRED or INVALID_TRANSITION. A cleanup before
 * its time changes nothing.
 */
export function transition(moduleId: string, { from, verb, now }: Step): InstallationChange {
  const outcome = table[from?.status ?? 'none'][verb] ?? 'INVALID_TRANSITION'
  if (typeof outcome === 'string' && outcome !== 'unchanged') throw refusal(outcome, moduleId, { from, verb })
  if (from === null) return { state: installed, changed: true, emits: installEvents }
  const isDue = from.dataDeleteAt !== null && from.dataDeleteAt <= now
  if (verb === 'activate' && isDue) throw refusal('RETENTION_EXPIRED', moduleId, { from, verb })
  const unchanged: InstallationChange = { state: from, changed: false, emits: [] }
  if (outcome === 'unchanged' || (verb === 'cleanup' && !isDue)) return unchanged
  const { to, emits = [] } = outcome as Exclude<Outcome, string>
  const isOtherVersion = verb === 'update' || verb === 'rollback'
  const paused = verb === 'pause' || (isOtherVersion && from.paused)
  if (!isOtherVersion && to === from.status && paused === from.paused) return unchanged
  return { state: { status: to, paused, dataDeleteAt: retentionEnd(to, now) }, changed: true, emits }
}

type Step = Readonly<{ from: InstallationState | null; verb: InstallationVerb; now: string }>

const installed: InstallationState = { status: 'installed', paused: false, dataDeleteAt: null }
const installEvents: readonly InstallationEvent[] = ['module.installed']

const dayMs = 24 * 3_600_000

const retentionEnd = (to: InstallationStatus, now: string): string | null =>
  to === 'deactivated' || to === 'pending_deletion' ? new Date(Date.parse(now) + retentionDays * dayMs).toISOString() : null

function refusal(code: ProblemCode, moduleId: string, { from, verb }: Pick<Step, 'from' | 'verb'>) {
  if (code === 'NOT_FOUND') return problem(code, `Module ${moduleId} is not installed. fix: install it first`)
  if (code === 'ALREADY_INSTALLED') return problem(code, `Module ${moduleId} is already installed (${from?.status}).`)
  if (code === 'RETENTION_EXPIRED')
    return problem(
      code,
      `The data of ${moduleId} expired at ${from?.dataDeleteAt}. fix: delete the installation and install the module again`,
    )
  const possible = from
    ? Object.keys(table[from.status]).filter((one) => one !== 'cleanup' && typeof table[from.status][one as InstallationVerb] === 'object')
    : []
  return problem(code, `Module ${moduleId} is ${from?.status}, so ${verb} is not possible. Possible: ${possible.join(', ') || 'nothing'}.`)
}

/** True while runs of the module may start. */
export const mayRun = ({ status, paused }: Pick<InstallationState, 'status' | 'paused'>): boolean => status === 'active' && !paused
