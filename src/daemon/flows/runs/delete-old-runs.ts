import { isoNow, plural } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { finishTasksOfRun } from '../../tasks/index.ts'
import type { RunsDeps } from './deps.ts'
import { openElements } from './elements.repo.ts'
import { formFilesOf } from './form-files-of-run.ts'
import { tasksOf } from './open-elements.ts'
import { closeAlertsOfRun } from './run-alerts.ts'

const atOnce = 200

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'eraseFiles'>
type OfRun = Readonly<{ tenantId: string; runId: string }>

/**
 * Deletes ended runs past the retention of their board, with their history, values, messages, signatures and the files that users uploaded for their
 * forms, and closes their alerts. Tasks that still wait for a failed run are cancelled. Files of reports stay in the space.
 */
export async function deleteOldRuns(deps: Deps, signal?: AbortSignal): Promise<string> {
  const { db, clock } = deps
  const until = isoNow(clock)
  let gone = 0
  for (let last = atOnce; last === atOnce && !signal?.aborted; gone += last) {
    const due = db.selectFrom('runs').select(['id', 'tenant_id', 'status', 'started_at']).where('expires_at', '<=', until).limit(atOnce)
    const runs = await due.execute()
    last = runs.length
    for (const { id, tenant_id, started_at } of runs) await eraseFormFiles(deps, { tenantId: tenant_id, runId: id, since: started_at })
    if (last > 0)
      await db.transaction().execute(async (tx) => {
        for (const { id, tenant_id, status } of runs)
          if (status === 'failed') await cancelTasks(deps, tx, { tenantId: tenant_id, runId: id })
        const ids = runs.map(({ id }) => id)
        for (const table of ['run_history', 'run_elements', 'run_timers', 'run_messages', 'run_reports'] as const)
          await tx.deleteFrom(table).where('run_id', 'in', ids).execute()
        await tx.deleteFrom('runs').where('id', 'in', ids).execute()
        // Last, so that it closes also what a job raised until its row was deleted.
        for (const { id, tenant_id } of runs) await closeAlertsOfRun(tx, clock, { tenantId: tenant_id, runId: id })
      })
  }
  return plural(gone, 'old run')
}

/** Files of other users and older ones are left: a form can name any file of the space. */
async function eraseFormFiles({ db, eraseFiles }: Deps, { since, ...of }: OfRun & Readonly<{ since: string }>): Promise<void> {
  for await (const files of formFilesOf(db, of))
    await eraseFiles(
      of.tenantId,
      files.map(({ id, by }) => ({ id, uploaded: { by, since } })),
    )
}

/** Only their run could end them. */
async function cancelTasks(deps: Deps, tx: Tx, of: OfRun): Promise<void> {
  await finishTasksOfRun({ ...deps, tx }, (await openElements(tx, of)).flatMap(tasksOf), { type: 'cancel' })
}
