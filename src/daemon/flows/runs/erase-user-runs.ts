import { type Board, fillsLabels, hasEnded } from '../../../core/boards/index.ts'
import type { SystemActor } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { findFile } from '../../files/index.ts'
import { replaceTitlesOfRun } from '../../tasks/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import { filesIn, formFilesOf, submissionsOf } from './form-files-of-run.ts'
import type { HistoryInput, SubmitInput } from './history.repo.ts'
import { manageLocked } from './manage-run.ts'
import { lockRun, type RunRecord } from './runs.repo.ts'

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random' | 'eraseFiles'>
type ErasedUser = Readonly<{ id: string; tenantId: string; slug: string }>

const actor: SystemActor = { kind: 'system', name: 'privacy' }

/**
 * Removes what an erased user left in runs. Runs that the user started are cancelled if they have not ended, and lose the values and signatures of
 * their forms, also in titles of tasks; steps, times and reports stay, and uploads until the run is deleted. Signatures that the user drew in
 * other runs are deleted too. It can be repeated until the id is replaced.
 */
export async function eraseUserRuns(deps: Deps, user: ErasedUser, signal?: AbortSignal): Promise<void> {
  const { id, tenantId } = user
  const started = deps.db.selectFrom('runs').select(['id', 'started_at']).where('tenant_id', '=', tenantId)
  for (const run of await started.where('started_by', '=', id).execute()) {
    signal?.throwIfAborted()
    await cancelUnfinished(deps, user, run.id)
    await eraseSignatures(deps, user, { runId: run.id, since: run.started_at })
    await deps.db.transaction().execute((tx) => eraseValues(tx, { tenantId, runId: run.id }))
  }
  const submitted = deps.db.selectFrom('run_history').select('run_id').distinct().where('tenant_id', '=', tenantId)
  for (const { run_id: runId } of await submitted.where('by_user', '=', id).where('type', '=', 'submit').execute()) {
    signal?.throwIfAborted()
    await eraseSignatures(deps, user, { runId, by: id })
  }
}

/** A run that has ended is left as it is. */
const cancelUnfinished = (deps: Deps, { tenantId, slug }: ErasedUser, id: string): Promise<void> =>
  deps.db.transaction().execute(async (tx) => {
    const run = await lockRun(tx, { tenantId, id })
    if (run && !hasEnded(run.state)) await manageLocked(deps, tx, { run, type: 'cancel', actor, slug })
  })

/** `by`: only signatures of this user. `since`: those of others only if they were made since then, which leaves older files that a form names. */
type Signed = Readonly<{ runId: string; by?: string; since?: string }>

async function eraseSignatures(deps: Deps, { id: userId, tenantId }: ErasedUser, { runId, by, since }: Signed): Promise<void> {
  for await (const files of formFilesOf(deps.db, { tenantId, runId, ...(by === undefined ? {} : { by }) })) {
    const signatures = files.filter(({ kind }) => kind === 'signature')
    await deps.eraseFiles(
      tenantId,
      signatures.map(({ id, by: signer }) => ({ id, uploaded: { by: signer, since: signer === userId ? undefined : since } })),
    )
  }
}

type OfRun = Readonly<{ tenantId: string; runId: string }>

async function eraseValues(tx: Tx, { tenantId, runId }: OfRun): Promise<void> {
  const run = await lockRun(tx, { tenantId, id: runId })
  if (!run) return
  const board = await boardOf(tx, { tenantId, boardId: run.boardId, version: run.boardVersion })
  const state = JSON.stringify({ ...run.state, variables: {} })
  await tx.updateTable('runs').set({ state }).where('tenant_id', '=', tenantId).where('id', '=', runId).execute()
  const history = tx.updateTable('run_history').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  await history.set({ key: null, request: null, answer: null }).execute()
  const began = JSON.stringify({ type: 'start', by: run.state.startedBy, variables: {} } satisfies HistoryInput)
  await history.set({ input: began }).where('type', '=', 'start').execute()
  for await (const page of submissionsOf(tx, { tenantId, runId }))
    for (const { seq, input } of page) {
      const without = JSON.stringify({ ...input, values: await uploadsOf(tx, { run, board, input }) })
      await history.set({ input: without }).where('seq', '=', seq).execute()
    }
  if (fillsLabels(board) || (await hasMoved(tx, { tenantId, runId }))) await replaceTitlesOfRun(tx, { tenantId, runId, title: '(erased)' })
  const messages = tx.updateTable('run_messages').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  await messages.set({ status: 'failed' }).where('status', '=', 'pending').execute()
  await messages.set({ body: '' }).execute()
}

/** Whether the run continued with another version of its board: labels of the former one may have had values. */
async function hasMoved(tx: Tx, { tenantId, runId }: OfRun): Promise<boolean> {
  const retries = tx.selectFrom('run_history').select('input').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  const rows = await retries.where('type', '=', 'retry').execute()
  return rows.some(({ input }) => 'boardVersion' in (JSON.parse(input) as object))
}

type Submitted = Readonly<{ run: RunRecord; board: Board; input: SubmitInput }>

/**
 * Ids of files, by which the deletion of the run finds them. Only of those that the submitter uploaded: all erased users get
 * the same name, which files of others may have too then.
 */
async function uploadsOf(tx: Tx, { run: { tenantId, spaceId }, board, input }: Submitted): Promise<Readonly<Record<string, string>>> {
  const own: Record<string, string> = {}
  for (const { name, kind, id } of filesIn(board.graph, input)) {
    const found = kind === 'file' && spaceId !== null ? await findFile(tx, { tenantId, spaceId, fileId: id }) : undefined
    if (found?.file.createdBy === input.by) own[name] = id
  }
  return own
}
