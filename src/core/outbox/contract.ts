import { z } from 'zod'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'
import { Followup, FollowupCount, FollowupState } from './followup.ts'

const base = '/api/admin/v1/followups'
const FollowupId = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const Topic = z
  .string()
  .regex(/^[a-z]+([.-][a-z]+)*$/, 'must be a topic such as chat.space')
  .max(60)

/** What is still to be done after changes, and what was given up. */
export const outboxContract = {
  listFollowups: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({ state: FollowupState.optional(), topic: Topic.optional() }),
    returns: z.object({ followups: z.array(Followup), nextCursor: z.string().nullable(), counts: z.array(FollowupCount) }),
    summary: 'Follow-up work that is not done, oldest first, and how much there is of each kind',
  }),
  showFollowup: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: z.object({ id: FollowupId }),
    returns: Followup,
    summary: 'One piece of follow-up work; what is done is not there any more',
  }),
  retryFollowups: endpoint({
    method: 'POST',
    path: `${base}/retry`,
    auth: admin('operator'),
    /** Without `ids` and `topic` all that is dead. */
    body: z.strictObject({ ids: z.array(FollowupId).min(1).max(1000).optional(), topic: Topic.optional() }),
    returns: z.object({ retried: z.number() }),
    problems: ['NOT_FOUND'],
    summary: 'Try follow-up work again that was given up',
  }),
} as const satisfies Contract
