import { z } from 'zod'
import { alertKey } from '../../../core/alerts/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../../db/index.ts'
import type { TriggersDeps } from './deps.ts'
import { hasStartedLast } from './occurrences.repo.ts'
import { rowsOfBoard } from './triggers.repo.ts'

/** Job: raise or close the alert about the triggers of a board that start no runs. */
const failedTopic = 'triggers.failed'

type One = Readonly<{ tenantId: string; boardId: string }>

/** A job, because the caller may start further runs: alerts are raised behind all events of a transaction. */
export async function enqueueFailedCheck(tx: Tx, clock: Clock, { tenantId, boardId }: One): Promise<void> {
  await enqueueJob(tx, clock, { topic: failedTopic, payload: { tenantId, boardId }, key: boardId })
}

/** The trigger started a run, or is gone: only a board with an open alert costs a job. */
export async function enqueueIfFailed(tx: Tx, clock: Clock, one: One): Promise<void> {
  const open = tx.selectFrom('alerts').select('id').where('open_key', '=', keyOf(one))
  if (await open.executeTakeFirst()) await enqueueFailedCheck(tx, clock, one)
}

const keyOf = ({ boardId }: One): string => alertKey('trigger_failed', boardId)

/** Reads what the triggers of the board did last. */
export const failedStartJobs = ({ db, clock }: Pick<TriggersDeps, 'db' | 'clock'>): Readonly<Record<string, JobHandler>> => ({
  [failedTopic]: (payload) =>
    db.transaction().execute(async (tx) => {
      const one = z.object({ tenantId: z.string(), boardId: z.string() }).parse(payload)
      const tenant = await tx.selectFrom('tenants').select('slug').where('id', '=', one.tenantId).executeTakeFirst()
      if (!tenant) return
      const { slug } = tenant
      const isPublished = (await rowsOfBoard(tx, one)).length > 0
      if (isPublished && !(await hasStartedLast(tx, one)))
        // One alert for all triggers of the board: it refused the run, an expression has no value, or a message was read late.
        await raiseAlert(tx, clock, {
          kind: 'trigger_failed',
          key: keyOf(one),
          subject: `${slug}/${one.boardId}`,
          title: `A trigger of a board of ${slug} started no run`,
          body:
            `What a trigger of board ${one.boardId} of ${slug} waits for has happened, and its run was refused, or its message was read more than an ` +
            'hour late. Nothing is repeated. Other boards are not affected.\nAsk the school to start the run by hand and to correct the board: its ' +
            `occurrences (GET /api/platform/v1/cascade-boards/${one.boardId}/occurrences) name the reason. The command below lists the faults of its ` +
            'last version.',
          command: `tenantry boards check ${one.boardId} --tenant ${slug}`,
        })
      else
        await closeAlerts(tx, clock, {
          keys: [keyOf(one)],
          because: isPublished ? 'a trigger of the board started a run' : 'the board has no triggers any more',
        })
    }),
})
