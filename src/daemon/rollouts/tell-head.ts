import { alertOf } from '../../core/alerts/index.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { isOver } from '../../core/rollouts/index.ts'
import { closeAlerts, raiseAlert, wasRaised } from '../alerts/index.ts'
import type { Db } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/**
 * The signed head of a rollout that is over goes to whoever gets alerts: a copy that is not on this machine. There is nothing to see to, so the
 * alert is closed as soon as it is made; it is sent all the same. The same head again, as after a crash, makes no second one.
 */
export async function tellHead({ db, clock }: Deps, head: Checkpoint): Promise<void> {
  const rolloutId = /^rollout:(.+)$/.exec(head.chain)?.[1]
  if (rolloutId === undefined) return
  await db.transaction().execute(async (tx) => {
    const rollout = await tx.selectFrom('rollouts').select('status').where('id', '=', rolloutId).executeTakeFirst()
    if (!rollout || !isOver(rollout.status)) return
    const alert = alertOf.rollout_signed({ rolloutId, status: rollout.status, head })
    if (await wasRaised(tx, alert.key)) return
    await raiseAlert(tx, clock, alert)
    await closeAlerts(tx, clock, { subject: rolloutId, kinds: ['rollout_signed'], because: 'there is nothing to do but to keep it' })
  })
}
