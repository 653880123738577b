import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { ProofSummary } from '../../core/snapshots/index.ts'
import type { Db } from '../db/index.ts'
import { lastProofs } from './proofs.ts'

/** The managed box whose last verified restore is the oldest, and the number of boxes without one. */
export async function summarizeProofs({ db, clock }: Readonly<{ db: Db; clock: Clock }>): Promise<ProofSummary> {
  const boxes = await db.selectFrom('boxes').select(['tenant_id', 'slug']).where('live', '=', 1).where('managed', '=', 1).execute()
  const proofs = await lastProofs(db, isoNow(clock))
  const proven = boxes.flatMap(({ tenant_id, slug }) => {
    const at = proofs.get(tenant_id)
    return at === undefined ? [] : [{ slug, at }]
  })
  const [oldest = null] = proven.toSorted((a, b) => (a.at < b.at ? -1 : 1))
  return { boxes: boxes.length, unproven: boxes.length - proven.length, oldest }
}
