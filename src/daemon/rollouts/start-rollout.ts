import { type Actor, actorLabel, duration, elapsedMs, isoNow, plural, problem } from '../../core/kit/index.ts'
import { type ActiveRollout, leftOutBoxes, type Rollout, refusalsOf, transition } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { actionsOf, type StoredAction } from './actions.repo.ts'
import { emergencyStarted } from './alerts.ts'
import { type AmongOthersTx, changeWithOpenRolloutsLocked } from './change-rollout.ts'
import type { RolloutsDeps, VerbDeps } from './deps.ts'
import { assertNoEmergencyBeside } from './emergency/assert-no-emergency.ts'
import { lockForEmergency } from './emergency/emergencies.repo.ts'
import { assertEmergencyRole, includeBoxesBehind, pauseStaged, stopRollbacks } from './emergency/precedence.ts'
import { activeRollouts } from './open-rollouts.repo.ts'
import { adoptPlan, planAgain } from './plan-again.ts'
import type { PlanDeps, Planned } from './plan-rollout.ts'
import { closeRolloutAlerts, publishEvent, recordRolloutAudit, updateAction } from './publish.ts'

import { replaceRollout, type StoredRollout } from './rollouts.repo.ts'

type Deps = VerbDeps & PlanDeps & Pick<RolloutsDeps, 'assertSnapshotsConfigured' | 'prometheus'>
type Input = Readonly<{ id: string; skipRefused?: boolean; queue?: boolean }>

/** An older plan says too little about the fleet of today. */
const maxPlanAgeMs = 24 * 60 * 60_000

/**
 * Starts a queued rollout; the engine runs it. Its plan is made again: of an emergency the whole, with its manifest; of a staged rollout the boxes
 * that it blocks. An emergency pauses the running staged rollouts, stops pending rollbacks, and includes boxes
 * that fell behind since its creation, in the same transaction. `skipRefused` skips the boxes that the plan blocks. With `queue` a staged
 * rollout begins once the unfinished rollouts that include its boxes have finished. Throws INVALID_TRANSITION, FORBIDDEN, CONFIG, PLAN_STALE
 * (also for an emergency after whose approval another manifest was applied), PLAN_REFUSED, ROLLOUT_ACTIVE, and CONFLICT beside an emergency.
 */
export async function startRollout(deps: Deps, actor: Actor, input: Input): Promise<Rollout> {
  return startAs(deps, actor, { ...input, planned: await planAgain(deps, actor, input.id) })
}

type Start = Input & Readonly<{ planned: Planned | undefined }>

const startAs = (deps: Deps, actor: Actor, { id, skipRefused = false, queue = false, planned }: Start): Promise<Rollout> =>
  changeWithOpenRolloutsLocked(deps, id, async ({ tx, clock, rollout: queued, others }) => {
    const at = isoNow(clock)
    const isEmergency = queued.kind === 'emergency_cve'
    if (isEmergency) assertEmergencyRole(actor)
    transition(queued, { type: 'start', at })
    deps.assertSnapshotsConfigured()
    assertGatesAnswerable(deps, queued)
    assertPlanIsFresh(queued, at)
    assertNoEmergencyBeside(queued, others)
    const { rollout, takenIn, recordManifest } = planned
      ? await adoptPlan({ tx, clock, rollout: queued }, actor, planned)
      : { rollout: queued, takenIn: [], recordManifest: undefined }
    const moved = transition(rollout, { type: 'start', at })
    const pending = await actionsOf(tx, id, ['pending'])
    const blocked = pending.filter(isBlocked)
    if (!skipRefused) assertNoneBlocked(rollout, blocked)
    const active = isEmergency ? [] : await activeRollouts(tx, slugsOf(pending.filter((action) => !isBlocked(action))), id)
    if (!queue) assertNoneActive(rollout, active)
    const queuedBehind = active.map(({ rolloutId }) => rolloutId)
    const started = { tx, clock, others, rollout: { ...moved, skipRefused: rollout.skipRefused || skipRefused, queuedBehind } }
    if (isEmergency) await lockForEmergency(tx)
    await replaceRollout(tx, rollout, started.rollout)
    await publishEvent(started, { type: 'rollout.started' })
    for (const action of blocked) await updateAction(started, action, { ...action, status: 'skipped', waived: true })
    const first = isEmergency ? await preemptOtherRollouts(started, actor, takenIn) : undefined
    const leftOut = blocked.length > 0 ? { leftOut: slugsOf(blocked) } : {}
    const data = { ...first, ...leftOut, ...(queuedBehind.length > 0 ? { queuedBehind } : {}) }
    await recordRolloutAudit(started, { actor, action: 'rollout.started', data })
    await recordManifest?.()
    return first ? [...first.paused, ...first.stoppedRollbacks] : []
  })

function assertGatesAnswerable({ prometheus }: Pick<RolloutsDeps, 'prometheus'>, { gates }: StoredRollout): void {
  if (gates.length === 0 || prometheus) return
  throw problem(
    'CONFIG',
    `the manifest has gates (${gates.map(({ name }) => name).join(', ')}), but the daemon has no prometheus.url. ` +
      'fix: set it and restart the daemon, or apply a manifest without gates and create a new rollout',
  )
}

/** All other rollouts yield to an emergency. Answers what goes into its audit entry. */
async function preemptOtherRollouts(started: AmongOthersTx, actor: Actor, behind: readonly string[]) {
  const { tx, clock, rollout } = started
  const paused = await pauseStaged(started)
  const stopped = await stopRollbacks(started)
  const takenIn = [...behind, ...(await includeBoxesBehind(started))].toSorted()
  const skipped = await actionsOf(tx, rollout.id, ['skipped'])
  await closeRolloutAlerts(started, 'started')
  const data = { paused: paused.ids, stoppedRollbacks: stopped.ids, takenIn }
  const alert = {
    rolloutId: rollout.id,
    cveId: rollout.cveId ?? 'CVE',
    by: actorLabel(actor),
    paused: paused.ids,
    stoppedRollbacks: stopped.ids,
    leftOut: leftOutBoxes(skipped),
    upToDate: skipped.filter(({ findings }) => findings.length === 0).length,
  }
  await raiseAlert(tx, clock, emergencyStarted(alert))
  await paused.recordAudits(actor)
  await stopped.recordAudits(actor)
  return data
}

function assertPlanIsFresh({ id, kind, createdAt }: StoredRollout, now: string): void {
  const ageMs = elapsedMs(createdAt, now)
  if (ageMs <= maxPlanAgeMs) return
  const create = `tenantry rollouts ${kind === 'staged' ? 'create' : 'emergency'}`
  throw problem(
    'PLAN_STALE',
    `the plan of ${id} is ${duration(ageMs)} old (max ${duration(maxPlanAgeMs)}). fix: create a new rollout with \`${create}\``,
  )
}

const slugsOf = (actions: readonly StoredAction[]) => actions.map(({ tenantSlug }) => tenantSlug)

const isBlocked = ({ findings }: StoredAction): boolean => refusalsOf(findings).length > 0

/** Two unfinished rollouts would update a box in an undefined order. */
function assertNoneActive({ id }: StoredRollout, active: readonly ActiveRollout[]): void {
  const [first] = active
  if (!first) return
  const others = active.length > 1 ? ` and ${plural(active.length - 1, 'other rollout')}` : ''
  const listed = active.map(({ rolloutId, status, slugs }) => `${rolloutId} (${status}): ${someOf(slugs)}`)
  throw problem(
    'ROLLOUT_ACTIVE',
    `rollout ${first.rolloutId} (${first.status})${others} has not finished and includes ${someOf(first.slugs)}. ` +
      `fix: wait for its end, or start this one behind it with \`tenantry rollouts start ${id} --queue\``,
    { violations: listed.slice(0, 100) },
  )
}

const someOf = (slugs: readonly string[]): string =>
  `${slugs.slice(0, 5).join(', ')}${slugs.length > 5 ? ` and ${slugs.length - 5} more` : ''}`

function assertNoneBlocked({ id }: StoredRollout, actions: readonly StoredAction[]): void {
  if (actions.length === 0) return
  const blocked = actions.map(({ tenantSlug, findings }) => `${tenantSlug}: ${codesOf(findings)}`)
  const some = `${blocked.slice(0, 5).join('; ')}${blocked.length > 5 ? '; …' : ''}`
  throw problem(
    'PLAN_REFUSED',
    `the plan blocks ${plural(blocked.length, 'box', 'boxes')} (${some}). ` +
      `fix: resolve the findings and create a new rollout, or skip the boxes with \`tenantry rollouts start ${id} --skip-refused\``,
    { violations: blocked.slice(0, 100) },
  )
}

const codesOf = (findings: StoredAction['findings']): string =>
  refusalsOf(findings)
    .map(({ code }) => code)
    .join(', ')
