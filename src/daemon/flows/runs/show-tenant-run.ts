import type { OperatorRun, OperatorRunDetail } from '../../../core/runs/index.ts'
import type { Db, DbOrTx } from '../../db/index.ts'
import { type Named, noSuchRun, operatorRuns, tenantIdOf } from './operate-runs.ts'
import { findRun, summaryOf } from './runs.repo.ts'

type OfRun = Readonly<{ tenantId: string; runId: string }>

/** The state of a run for operators, without texts, users and values. Throws NOT_FOUND. */
export async function showTenantRun({ db }: Readonly<{ db: Db }>, named: Named): Promise<OperatorRunDetail> {
  const tenantId = await tenantIdOf(db, named.slug)
  const run = await findRun(db, { tenantId, id: named.id })
  if (!run) throw noSuchRun(named)
  const of = { tenantId, runId: run.id }
  const [shown] = await operatorRuns(db, { tenantId, runs: [summaryOf(run)] })
  return { ...(shown as OperatorRun), doneElementIds: await doneElements(db, of), undelivered: await undeliveredOf(db, of) }
}

async function doneElements(db: DbOrTx, { tenantId, runId }: OfRun): Promise<string[]> {
  const query = db.selectFrom('run_history').select('element_id').distinct().where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  const rows = await query.where('element_id', 'is not', null).execute()
  return rows.flatMap(({ element_id }) => element_id ?? []).toSorted()
}

const maxUndelivered = 100

/** Messages that were not sent and reports that were not stored, oldest first. */
async function undeliveredOf(db: DbOrTx, { tenantId, runId }: OfRun): Promise<OperatorRunDetail['undelivered']> {
  const failed = (table: 'run_messages' | 'run_reports') =>
    db
      .selectFrom(table)
      .select(['element_id as elementId', 'created_at as at'])
      .where('tenant_id', '=', tenantId)
      .where('run_id', '=', runId)
      .where('status', '=', 'failed')
      .orderBy('created_at')
      .limit(maxUndelivered)
      .execute()
  const messages = (await failed('run_messages')).map((one) => ({ type: 'message' as const, ...one }))
  const reports = (await failed('run_reports')).map((one) => ({ type: 'report' as const, ...one }))
  return [...messages, ...reports].toSorted((a, b) => (a.at < b.at ? -1 : 1))
}
