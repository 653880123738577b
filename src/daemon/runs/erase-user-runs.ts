import { fillsLabels } from '../../core/boards/index.ts'
import type { SystemActor } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { replaceTitlesOfRun } from '../tasks/index.ts'
import { manageLocked } from './advance-run.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import { formFilesOf, submissionsOf } from './form-files-of-run.ts'
import type { HistoryInput } from './history.repo.ts'
import { lockRun, type RunRecord } from './runs.repo.ts'

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random' | 'eraseFiles'>
type ErasedUser = Readonly<{ id: string; tenantId: string; slug: string }>

const actor: SystemActor = { kind: 'system', name: 'privacy' }

/**
 * Removes what an erased user left in runs. Runs that the user started are cancelled if they have not ended, and lose the values and signatures of
 * their forms, also in titles of tasks; steps, times and reports stay. Signatures that the user drew in other runs go too. It can be repeated until the id is replaced.
 */
export async function eraseUserRuns(deps: Deps, user: ErasedUser, signal?: AbortSignal): Promise<void> {
  const { id, tenantId } = user
  const started = await deps.db.selectFrom('runs').select('id').where('tenant_id', '=', tenantId).where('started_by', '=', id).execute()
  for (const run of started) {
    signal?.throwIfAborted()
    await cancelUnfinished(deps, user, run.id)
    await eraseSignatures(deps, { tenantId, runId: run.id })
    await deps.db.transaction().execute((tx) => eraseValues(tx, { tenantId, runId: run.id }))
  }
  const submitted = deps.db.selectFrom('run_history').select('run_id').distinct().where('tenant_id', '=', tenantId)
  for (const { run_id: runId } of await submitted.where('by_user', '=', id).where('type', '=', 'submit').execute()) {
    signal?.throwIfAborted()
    await eraseSignatures(deps, { tenantId, runId, by: id })
  }
}

/** A run that has ended is left as it is. */
const cancelUnfinished = (deps: Deps, { tenantId, slug }: ErasedUser, id: string): Promise<void> =>
  deps.db.transaction().execute(async (tx) => {
    const run = await lockRun(tx, { tenantId, id })
    if (run && !hasEnded(run)) await manageLocked(deps, tx, { run, type: 'cancel', actor, slug })
  })

const hasEnded = ({ state: { status, failure } }: RunRecord): boolean =>
  status === 'completed' || failure?.code === 'CANCELLED' || failure?.code === 'REJECTED'

/** `by`: only the signatures of this user. */
type OfRun = Readonly<{ tenantId: string; runId: string; by?: string }>

async function eraseSignatures(deps: Deps, of: OfRun): Promise<void> {
  for await (const files of formFilesOf(deps.db, of))
    await deps.eraseFiles(
      of.tenantId,
      files.filter(({ kind }) => kind === 'signature').map(({ id }) => ({ id })),
    )
}

async function eraseValues(tx: Tx, { tenantId, runId }: OfRun): Promise<void> {
  const run = await lockRun(tx, { tenantId, id: runId })
  if (!run) return
  const state = JSON.stringify({ ...run.state, variables: {} })
  await tx.updateTable('runs').set({ state }).where('tenant_id', '=', tenantId).where('id', '=', runId).execute()
  const history = tx.updateTable('run_history').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  await history.set({ key: null, request: null, answer: null }).execute()
  const began = JSON.stringify({ type: 'start', by: run.state.startedBy, variables: {} } satisfies HistoryInput)
  await history.set({ input: began }).where('type', '=', 'start').execute()
  for await (const page of submissionsOf(tx, { tenantId, runId }))
    for (const { seq, input } of page) {
      const without = JSON.stringify({ ...input, values: {} })
      await history.set({ input: without }).where('seq', '=', seq).execute()
    }
  const board = await boardOf(tx, { tenantId, boardId: run.boardId, version: run.boardVersion })
  if (fillsLabels(board)) await replaceTitlesOfRun(tx, { tenantId, runId, title: '(erased)' })
  const messages = tx.updateTable('run_messages').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  await messages.set({ status: 'failed' }).where('status', '=', 'pending').execute()
  await messages.set({ body: '' }).execute()
}
