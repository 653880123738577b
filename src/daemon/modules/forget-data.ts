import { z } from 'zod'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import type { ModulesDeps } from './deps.ts'
import { findInstallation } from './installations.repo.ts'

/** Deletes documents of a generation that is no longer in force. */
export const forgetDataTopic = 'modules.forget-data'

const Forget = z.object({ tenantId: z.string(), moduleId: z.string(), generation: z.number() })

type Forgotten = z.infer<typeof Forget> & Readonly<{ runAt: string }>

export const forgetDataAt = (tx: Tx, clock: Clock, { runAt, ...payload }: Forgotten): Promise<void> =>
  enqueueJob(tx, clock, { topic: forgetDataTopic, payload, runAt })

const step = 1000

/** Leaves the data in force, and that of a version that a rollback can return to. */
export const forgetData =
  ({ db, clock }: Pick<ModulesDeps, 'db' | 'clock'>): JobHandler =>
  async (payload, { signal }) => {
    const { tenantId, moduleId, generation } = Forget.parse(payload)
    const one = await findInstallation(db, { tenantId, moduleId })
    if (one?.dataGeneration === generation) return
    if (one?.former?.dataGeneration === generation && (one.formerUntil ?? '') > isoNow(clock)) return
    for (let last = step; last === step; ) {
      signal?.throwIfAborted()
      const some = db
        .selectFrom('module_documents')
        .select('key')
        .where('tenant_id', '=', tenantId)
        .where('module_id', '=', moduleId)
        .where('generation', '=', generation)
        .limit(step)
      const { numDeletedRows } = await db
        .deleteFrom('module_documents')
        .where('tenant_id', '=', tenantId)
        .where('module_id', '=', moduleId)
        .where('generation', '=', generation)
        .where('key', 'in', some)
        .executeTakeFirst()
      last = Number(numDeletedRows)
    }
  }
