import { alertOf } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, duration, elapsedMs, isoNow, plural, problem } from '../../core/kit/index.ts'
import { type Rollout, refusalsOf, transition } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import { actionsOf, replaceAction, type StoredAction } from './actions.repo.ts'
import { changeAmongOthers } from './change-rollout.ts'
import { closeRolloutAlerts } from './close-rollout-alerts.ts'
import type { RolloutsDeps, VerbDeps } from './deps.ts'
import { refuseBesideEmergency, requireEmergencyRole } from './emergency/beside-emergency.ts'
import { passWaysBack } from './emergency/fixes.repo.ts'
import { pauseStaged } from './emergency/pause-staged.ts'
import { stopUndos } from './emergency/stop-undos.ts'
import { takeInAgain } from './emergency/take-in-again.ts'
import { replaceRollout, type StoredRollout } from './rollouts.repo.ts'
import { recordRolloutAudit, tell } from './tell.ts'

type Deps = VerbDeps & Pick<RolloutsDeps, 'requireSnapshots'>
type Wanted = Readonly<{ id: string; skipRefused?: boolean }>

/** A plan says nothing about the fleet of the day after. */
const planLifeMs = 24 * 60 * 60_000

/**
 * Sets it going; the engine does the rest. An emergency pauses the staged rollouts that run, lets no more boxes be brought back and takes in those
 * that fell behind since it was made, in the same transaction. With `skipRefused` the boxes that the plan refuses are passed over. Throws INVALID_TRANSITION, FORBIDDEN, CONFIG, PLAN_STALE, PLAN_REFUSED, and CONFLICT
 * beside an emergency.
 */
export const startRollout = (deps: Deps, actor: Actor, { id, skipRefused = false }: Wanted): Promise<Rollout> =>
  changeAmongOthers(deps, id, async (tx, rollout, others) => {
    const { clock } = deps
    const at = isoNow(clock)
    const emergency = rollout.kind === 'emergency_cve'
    if (emergency) requireEmergencyRole(actor)
    const started = { ...transition(rollout, { type: 'start', at }), skipRefused: rollout.skipRefused || skipRefused }
    deps.requireSnapshots()
    refuseStale(rollout, at)
    refuseBesideEmergency(rollout, others)
    const refused = await refusedActions(tx, rollout)
    if (!skipRefused) refuseRefused(rollout, refused)
    if (emergency) await passWaysBack(tx)
    await replaceRollout(tx, rollout, started)
    await tell(tx, clock, started, { type: 'rollout.started' })
    await passOver(tx, deps, started, refused)
    const first = emergency ? await putFirst(tx, deps, started, others) : undefined
    if (first) await alarm(tx, deps, actor, started, first.data)
    await first?.recordRolloutAudit(actor)
    const data = { ...first?.data, ...(refused.length > 0 ? { leftOut: slugsOf(refused) } : {}) }
    await recordRolloutAudit(tx, clock, started, { actor, action: 'rollout.started', data })
    return first ? [...first.data.paused, ...first.data.stoppedUndos] : []
  })

/** All others make way for an emergency, and nobody whom it has to reach is left behind. */
async function putFirst(tx: Tx, { clock }: Deps, emergency: StoredRollout, others: readonly StoredRollout[]) {
  const paused = await pauseStaged(tx, clock, emergency, others)
  const stopped = await stopUndos(tx, clock, emergency, others)
  const takenIn = await takeInAgain(tx, clock, emergency)
  await closeRolloutAlerts(tx, clock, emergency.id, 'started')
  return {
    data: { paused: paused.ids, stoppedUndos: stopped.ids, takenIn },
    recordRolloutAudit: async (actor: Actor) => {
      await paused.recordRolloutAudit(actor)
      await stopped.recordRolloutAudit(actor)
    },
  }
}

function refuseStale({ id, kind, createdAt }: StoredRollout, now: string): void {
  const ageMs = elapsedMs(createdAt, now)
  if (ageMs > planLifeMs)
    throw problem(
      'PLAN_STALE',
      `the plan of ${id} is ${duration(ageMs)} old and the fleet has moved on: make a new one with \`tenantry rollouts ${kind === 'staged' ? 'create' : 'emergency'}\``,
    )
}

const slugsOf = (actions: readonly StoredAction[]) => actions.map(({ tenantSlug }) => tenantSlug)

const refusedActions = async (tx: Tx, { id }: StoredRollout): Promise<StoredAction[]> =>
  (await actionsOf(tx, id, ['pending'])).filter(({ findings }) => refusalsOf(findings).length > 0)

function refuseRefused({ id }: StoredRollout, actions: readonly StoredAction[]): void {
  if (actions.length === 0) return
  const refused = actions.map(
    ({ tenantSlug, findings }) =>
      `${tenantSlug}: ${refusalsOf(findings)
        .map(({ code }) => code)
        .join(', ')}`,
  )
  throw problem(
    'PLAN_REFUSED',
    `the plan refuses ${plural(refused.length, 'box', 'boxes')} (${refused.slice(0, 5).join('; ')}${refused.length > 5 ? '; …' : ''}): ` +
      `mend them and make the rollout anew, or leave them out with \`tenantry rollouts start ${id} --skip-refused\``,
    { violations: refused.slice(0, 100) },
  )
}

async function passOver(tx: Tx, { clock }: Deps, rollout: StoredRollout, refused: readonly StoredAction[]): Promise<void> {
  for (const action of refused) {
    const skipped: StoredAction = { ...action, status: 'skipped' }
    await replaceAction(tx, action, skipped)
    await tell(tx, clock, rollout, { type: 'rollout.action', action: skipped })
  }
}

type MadeWay = Readonly<{ paused: readonly string[]; stoppedUndos: readonly string[] }>

async function alarm(tx: Tx, { clock }: Deps, actor: Actor, { id, cveId }: StoredRollout, others: MadeWay): Promise<void> {
  await raiseAlert(tx, clock, alertOf.emergency_started({ rolloutId: id, cveId: cveId ?? 'CVE', by: actorLabel(actor), ...others }))
}
