import { z } from 'zod'
import { isoNow, printable } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { lockSubmission, type SubmissionRecord } from './submissions.repo.ts'

export const reviewDueTopic = 'marketplace.review-due'

type Clocked = Pick<MarketplaceDeps, 'clock'>
type Sent = Pick<SubmissionRecord, 'id' | 'updatedAt'>

/** Half of the time in which the receipt promises an answer: a submission that is reviewed on its day raises no alert. */
const dueAfterMs = 24 * 60 * 60_000

const Payload = z.object({ submissionId: z.string() })

const dueAt = ({ updatedAt }: Sent): string => new Date(Date.parse(updatedAt) + dueAfterMs).toISOString()

/** The reminder of a submission that was sent. Reminders of one submission that are due at the same time run once. */
export const expectReview = ({ clock }: Clocked, tx: Tx, one: Sent): Promise<void> =>
  enqueueJob(tx, clock, {
    topic: reviewDueTopic,
    payload: { submissionId: one.id } satisfies z.infer<typeof Payload>,
    ...{ key: one.id, runAt: dueAt(one) },
  })

/** Raises an alert about a submission that is not reviewed yet. One that its vendor changed meanwhile gets another day. */
export const remindOfReview =
  ({ db, clock }: Pick<MarketplaceDeps, 'db' | 'clock'>): JobHandler =>
  async (payload) => {
    const { submissionId } = Payload.parse(payload)
    await db.transaction().execute(async (tx) => {
      const one = await lockSubmission(tx, submissionId)
      if (one?.status !== 'pending') return
      if (dueAt(one) > isoNow(clock)) return expectReview({ clock }, tx, one)
      await raiseAlert(tx, clock, {
        kind: 'review_due',
        subject: submissionId,
        title: `The submission ${printable(one.name).slice(0, 50)} has waited a day for a review`,
        body:
          'Its vendor was promised an answer within 2 working days.\n' +
          'A reviewer approves it, asks for changes or rejects it. The alert closes then.',
        command: `tenantry marketplace submissions show ${submissionId}`,
      })
    })
  }

export const endReminder = ({ clock }: Clocked, tx: Tx, { id }: Pick<Sent, 'id'>): Promise<void> =>
  closeAlerts(tx, clock, { subject: id, kinds: ['review_due'], because: 'the submission was reviewed' })
