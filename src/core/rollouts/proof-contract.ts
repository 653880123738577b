import { z } from 'zod'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'
import { AttemptEvidence } from './evidence.ts'
import { RolloutReport } from './report.ts'
import { RolloutId } from './rollout.ts'

const one = z.strictObject({ id: RolloutId })
const base = '/admin/tenant-boxes/rollouts'

/** What a rollout leaves behind when it is over: its story, and what proves it. */
export const proofContract = {
  reportRollout: endpoint({
    method: 'GET',
    path: `${base}/:id/report`,
    auth: admin('viewer'),
    params: one,
    returns: RolloutReport,
    summary: 'What became of a rollout: timeline, phases, pauses, fences, steps, and the boxes that matter most',
  }),
  listEvidence: endpoint({
    method: 'GET',
    path: `${base}/:id/evidence`,
    auth: admin('viewer'),
    params: one,
    query: Paging,
    returns: z.object({ evidence: z.array(AttemptEvidence), nextCursor: z.string().nullable() }),
    summary: 'What each attempt that ended left behind, as the audit chain names it by its sum',
  }),
} as const satisfies Contract
