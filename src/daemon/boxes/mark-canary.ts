import type { Actor, Clock } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import type { BoxRecord } from './box-record.ts'
import { changeBox, existingBoxBy } from './boxes.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/** A canary goes first in every rollout. Marking a box twice changes nothing but the log. */
export const markCanary = (
  { db, clock }: Deps,
  actor: Actor,
  { slug: key, canary }: { slug: string; canary: boolean },
): Promise<BoxRecord> =>
  db.transaction().execute(async (tx) => {
    const box = await existingBoxBy(tx, key)
    await changeBox(tx, box, { canary: canary ? 1 : 0 })
    await recordAudit(tx, clock, { actor, action: 'box.canary', subject: box.slug, data: { canary } })
    return { ...box, canary }
  })
