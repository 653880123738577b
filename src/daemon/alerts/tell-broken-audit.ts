import { alertOf } from '../../core/alerts/index.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { raiseAlert } from './raise-alert.ts'

type Needs = Readonly<{ db: Db; clock: Clock }>

/** Found when the log is to be signed again, each time as long as it lasts. */
export const tellBrokenAudit = ({ db, clock }: Needs, facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await raiseAlert(tx, clock, alertOf.audit_broken(facts))
  })
