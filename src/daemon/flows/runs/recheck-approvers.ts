import { z } from 'zod'
import type { Clock } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { type DbOrTx, enqueueJob, executeWrites, type JobHandler, type Tx } from '../../db/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { openFor, runsAssignedTo } from './elements.repo.ts'
import { checkpointId } from './publish-step.ts'
import { slugOf, stalledAlert, stalledKey } from './run-alerts.ts'
import { lockRun, markStalled, type RunRecord } from './runs.repo.ts'
import { escalateStalled, stalledOf } from './stalled-elements.ts'

/** Job: check whether the open elements of a user, or of roles that it lost, still have enough users. */
const approversTopic = 'runs.approvers'
const atOnce = 200

const Lost = z.object({
  tenantId: z.string(),
  roles: z.array(z.string()),
  userId: z.string().nullable().default(null),
  runIds: z.array(z.string()).default([]),
})
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
  // An erasure clears the assignees of tasks before the job runs.
  const runIds = userId === null ? [] : await runsAssignedTo(tx, { tenantId, userId })
  if (runIds.length > 0) await enqueueJob(tx, clock, { topic: approversTopic, payload: { tenantId, roles: [], runIds }, key: tenantId })
}

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random'>

export const approverJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [approversTopic]: async (payload, { signal }) => {
    const lost = Lost.parse(payload)
    const check = async (runIds: Iterable<string>) => {
      for (const runId of runIds) {
        if (signal?.aborted) throw new Error('stopped before all elements were checked')
        await deps.db.transaction().execute((tx) => recheck(deps, tx, { tenantId: lost.tenantId, runId }))
      }
    }
    await check(lost.runIds)
    for (let after: Parameters<typeof openFor>[1]['after']; ; ) {
      const page = await openFor(deps.db, { ...lost, after, limit: atOnce, kinds })
      await check(new Set(page.map((one) => one.runId)))
      const last = page.at(-1)
      if (!last || page.length < atOnce) return
      after = { openedAt: last.openedAt, id: checkpointId(last.runId, last.tokenId) }
    }
  },
  [stalledTopic]: async (payload, { signal }) => checkStalled(deps, z.object({ tenantId: z.string() }).parse(payload).tenantId, signal),
})

type OfRun = Readonly<{ tenantId: string; runId: string }>
type Check = OfRun & Readonly<{ isGain?: boolean; movedTokenId?: string | null }>

/**
 * Raises the alert of a run with stalled elements, or closes it. A known alert is not raised again if no user was lost (`isGain`), nor for a
 * move of a task that can be done: `movedTokenId` is of its element, null for a task without one.
 */
export async function recheck(deps: StepDeps, tx: Tx, { tenantId, runId, isGain = false, movedTokenId }: Check): Promise<void> {
  const run = await lockRun(tx, { tenantId, id: runId })
  if (!run || run.state.failure) return
  const board = await boardOf(tx, { tenantId, boardId: run.boardId, version: run.boardVersion })
  const stalled = await stalledOf(tx, { run, board })
  if (stalled.length === 0) return closeStalled(deps, tx, run)
  const canBeDone = movedTokenId !== undefined && !stalled.some(({ tokenId }) => tokenId === movedTokenId)
  if (run.active.stalled && (isGain || canBeDone)) return
  const writes = await escalateStalled(deps, tx, { run, stalled })
  const roles = stalled.flatMap(({ escalationRole }) => escalationRole ?? [])
  await executeWrites(tx, [...writes, markStalled(run, { isStalled: true, roles })])
  await raiseAlert(tx, deps.clock, stalledAlert({ slug: await slugOf(tx, tenantId), runId, elements: stalled }))
}

async function closeStalled({ clock }: StepDeps, tx: Tx, run: RunRecord): Promise<void> {
  if (!run.active.stalled) return
  await executeWrites(tx, [markStalled(run, { isStalled: false, roles: [] })])
  await closeAlerts(tx, clock, { keys: [stalledKey(run.id)], because: 'enough users can continue the run' })
}

/** Job: close the alerts of runs that have enough users again. */
const stalledTopic = 'runs.stalled'

/** Enqueues it in the transaction that enables a user or gives it roles, if the tenant has such an alert. */
export async function enqueueStalledCheck(tx: Tx, clock: Clock, { tenantId }: Readonly<{ tenantId: string }>): Promise<void> {
  const open = await stalledRuns(tx, { slug: await slugOf(tx, tenantId), after: 0, limit: 1 })
  if (open.length > 0) await enqueueJob(tx, clock, { topic: stalledTopic, payload: { tenantId }, key: tenantId })
}

type Page = Readonly<{ slug: string; after: number; limit: number }>

const stalledRuns = (db: DbOrTx, { slug, after, limit }: Page) =>
  db
    .selectFrom('alerts')
    .select(['id', 'subject'])
    .where('status', 'in', ['open', 'acknowledged'])
    .where('subject', 'like', `${slug}/%`)
    .where('open_key', 'like', stalledKey('%'))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()

const checkStalled = async (deps: Deps, tenantId: string, signal: AbortSignal | undefined): Promise<void> => {
  const slug = await slugOf(deps.db, tenantId)
  for (let after = 0; ; ) {
    const page = await stalledRuns(deps.db, { slug, after, limit: atOnce })
    for (const { subject } of page) {
      if (signal?.aborted) throw new Error('stopped before all runs were checked')
      const runId = subject.slice(slug.length + 1)
      await deps.db.transaction().execute((tx) => recheck(deps, tx, { tenantId, runId, isGain: true }))
    }
    const last = page.at(-1)
    if (!last || page.length < atOnce) return
    after = Number(last.id)
  }
}
