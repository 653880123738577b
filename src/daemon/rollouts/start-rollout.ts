import { type Actor, duration, elapsedMs, isoNow, plural, problem } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import type { Tx } from '../db/index.ts'
import { actionsOf } from './actions.repo.ts'
import { changeRollout } from './change-rollout.ts'
import type { RolloutsNeeds, VerbNeeds } from './needs.ts'
import { replaceRollout, type StoredRollout } from './rollouts.repo.ts'
import { tell, writeDown } from './tell.ts'

type Needs = VerbNeeds & Pick<RolloutsNeeds, 'requireSnapshots'>

/** A plan says nothing about the fleet of the day after. */
const planLifeMs = 24 * 60 * 60_000

/** Sets it going; the engine does the rest. Throws INVALID_TRANSITION, CONFIG, PLAN_STALE, PLAN_REFUSED. */
export const startRollout = (needs: Needs, actor: Actor, { id }: { id: string }): Promise<Rollout> =>
  changeRollout(needs, id, async (tx, rollout) => {
    const { clock } = needs
    const at = isoNow(clock)
    const started = transition(rollout, { type: 'start', at })
    needs.requireSnapshots()
    refuseStale(rollout, at)
    await refuseRefused(tx, rollout)
    await replaceRollout(tx, rollout, started)
    await tell(tx, clock, started, { type: 'rollout.started' })
    await writeDown(tx, clock, started, { actor, action: 'rollout.started' })
  })

function refuseStale({ id, createdAt }: StoredRollout, now: string): void {
  const ageMs = elapsedMs(createdAt, now)
  if (ageMs > planLifeMs)
    throw problem(
      'PLAN_STALE',
      `the plan of ${id} is ${duration(ageMs)} old and the fleet has moved on: make a new one with \`tenantry rollouts create\``,
    )
}

async function refuseRefused(tx: Tx, { id }: StoredRollout): Promise<void> {
  const refused = (await actionsOf(tx, id, ['pending'])).flatMap(({ tenantSlug, findings }) => {
    const refusals = findings.filter(({ severity }) => severity === 'refuse')
    return refusals.length > 0 ? [`${tenantSlug}: ${refusals.map(({ code }) => code).join(', ')}`] : []
  })
  if (refused.length === 0) return
  throw problem(
    'PLAN_REFUSED',
    `the plan refuses ${plural(refused.length, 'box', 'boxes')} (${refused.slice(0, 5).join('; ')}${refused.length > 5 ? '; …' : ''}): ` +
      `mend them and create the rollout anew, or leave them out with \`tenantry rollouts create --skip-refused\``,
    { violations: refused.slice(0, 100) },
  )
}
