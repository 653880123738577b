import { z } from 'zod'
import { alertOf } from '../../core/alerts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { enqueueJob, executeWrites, type JobHandler, type Tx } from '../db/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import { openFor } from './elements.repo.ts'
import { checkpointId } from './publish-step.ts'
import { slugOf } from './run-alerts.ts'
import { lockRun, markStalled } from './runs.repo.ts'
import { escalateStalled, stalledOf } from './stalled-elements.ts'

/** Job: check whether the open elements of a user, or of roles that it lost, still have enough users. */
const approversTopic = 'runs.approvers'
const atOnce = 200

const Lost = z.object({ tenantId: z.string(), roles: z.array(z.string()), userId: z.string().nullable().default(null) })
const kinds = ['task', 'checkpoint', 'form'] as const

/** Enqueues the check in the transaction that disables or erases a user (`userId`) or takes roles away, if an element waits for one of them. */
export async function enqueueApproverCheck(
  tx: Tx,
  clock: Clock,
  { tenantId, roles, userId = null }: Readonly<{ tenantId: string; roles: readonly string[]; userId?: string | null }>,
) {
  // Equal jobs merge, such as those of many users of one role that are disabled at the end of a year.
  const checks = [{ tenantId, roles, userId: null }, ...(userId === null ? [] : [{ tenantId, roles: [], userId }])]
  for (const payload of checks) {
    const waiting = await openFor(tx, { ...payload, limit: 1, kinds })
    if (waiting.length > 0) await enqueueJob(tx, clock, { topic: approversTopic, payload, key: tenantId })
  }
}

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random'>

export const approverJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [approversTopic]: async (payload, { signal }) => {
    const lost = Lost.parse(payload)
    for (let after: Parameters<typeof openFor>[1]['after']; ; ) {
      const page = await openFor(deps.db, { ...lost, after, limit: atOnce, kinds })
      for (const runId of new Set(page.map((one) => one.runId))) {
        if (signal?.aborted) throw new Error('stopped before all elements were checked')
        await deps.db.transaction().execute((tx) => recheck(deps, tx, { tenantId: lost.tenantId, runId }))
      }
      const last = page.at(-1)
      if (!last || page.length < atOnce) return
      after = { openedAt: last.openedAt, id: checkpointId(last.runId, last.tokenId) }
    }
  },
})

async function recheck(deps: Deps, tx: Tx, { tenantId, runId }: Readonly<{ tenantId: string; runId: string }>): Promise<void> {
  const run = await lockRun(tx, { tenantId, id: runId })
  if (!run || run.state.failure) return
  const board = await boardOf(tx, { tenantId, boardId: run.boardId, version: run.boardVersion })
  const stalled = await stalledOf(tx, { run, board, at: isoNow(deps.clock) })
  if (stalled.length === 0) return
  const writes = await escalateStalled(deps, tx, { run, stalled })
  const roles = stalled.flatMap(({ escalationRole }) => escalationRole ?? [])
  await executeWrites(tx, [...writes, markStalled(run, roles)])
  await raiseAlert(tx, deps.clock, alertOf.checkpoint_stalled({ slug: await slugOf(tx, tenantId), runId, elements: stalled }))
}
