import type { Accepted, Difference } from '../../core/billing/index.ts'
import { type Actor, actorLabel, isoNow } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock'>

/** Accepts a difference that no fix closes, as a payment that an operator corrected by hand. It holds for both sides as they are. */
export const acceptDifference = ({ db, clock }: Deps, actor: Actor, accepted: Accepted): Promise<{ success: true }> =>
  db.transaction().execute(async (tx) => {
    const { kind, subject, id, ...as } = accepted
    const change = { ...as, accepted_by: actorLabel(actor), accepted_at: isoNow(clock) }
    await tx
      .insertInto('billing_accepted')
      .values({ kind, subject, id, ...change })
      .onConflict((c) => c.columns(['kind', 'subject', 'id']).doUpdateSet(change))
      .execute()
    await recordAudit(tx, clock, { actor, action: 'billing.difference-accepted', subject, data: accepted })
    return { success: true }
  })

/** The differences that no operator accepted as they are. */
export async function withoutAccepted({ db }: Pick<Deps, 'db'>, found: readonly Difference[]): Promise<Difference[]> {
  if (found.length === 0) return []
  const ids = [...new Set(found.map(({ id }) => id))]
  const rows = await db.selectFrom('billing_accepted').selectAll().where('id', 'in', ids).execute()
  const isAccepted = (one: Difference) =>
    rows.some((row) => (['kind', 'subject', 'id', 'here', 'there'] as const).every((key) => row[key] === one[key]))
  return found.filter((one) => !isAccepted(one))
}
