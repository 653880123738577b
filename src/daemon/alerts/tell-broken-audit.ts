import { alertOf } from '../../core/alerts/index.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { closeAlerts } from './close-alerts.ts'
import { raiseAlert } from './raise-alert.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/** Found when the log is to be signed again, each time as long as it lasts. */
export const tellBrokenAudit = ({ db, clock }: Deps, facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await raiseAlert(tx, clock, alertOf.audit_broken(facts))
  })

/** It was settled. Who had said that he was on it is told anew should it happen again. */
export const tellWholeAudit = ({ db, clock }: Deps, chain: string): Promise<void> =>
  db
    .transaction()
    .execute((tx) => closeAlerts(tx, clock, { subject: chain, kinds: ['audit_broken'], because: 'the log holds what was signed' }))
