import { z } from 'zod'
import { alertOf, reviewDueKey } from '../../core/alerts/index.ts'
import { isoIn } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { lockSubmission } from './submissions.repo.ts'

export const reviewDueTopic = 'marketplace.review-due'

type Clocked = Pick<MarketplaceDeps, 'clock'>
type Sent = Readonly<{ id: string; round: number }>

/** Half of the time in which the receipt promises an answer: a submission that is reviewed on its day raises no alert. */
const dueAfterMs = 24 * 60 * 60_000

const Payload = z.object({ submissionId: z.string(), round: z.int() })

export const expectReview = ({ clock }: Clocked, tx: Tx, { id, round }: Sent): Promise<void> =>
  enqueueJob(tx, clock, {
    topic: reviewDueTopic,
    payload: { submissionId: id, round } satisfies z.infer<typeof Payload>,
    runAt: isoIn(clock, dueAfterMs),
  })

/** Raises an alert about a submission that is not reviewed yet. */
export const remindOfReview =
  ({ db, clock }: Pick<MarketplaceDeps, 'db' | 'clock'>): JobHandler =>
  async (payload) => {
    const { submissionId, round } = Payload.parse(payload)
    await db.transaction().execute(async (tx) => {
      const one = await lockSubmission(tx, submissionId)
      if (one?.status !== 'pending' || one.round !== round) return
      await raiseAlert(tx, clock, alertOf.review_due({ submissionId, name: one.name }))
    })
  }

export const endReminder = ({ clock }: Clocked, tx: Tx, { id }: Pick<Sent, 'id'>): Promise<void> =>
  closeAlerts(tx, clock, { keys: [reviewDueKey(id)], because: 'the submission was reviewed' })
