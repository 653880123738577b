import type { DbOrTx } from '../db/index.ts'
import type { RunReportTable } from './runs.tables.ts'

export type RunReport = Readonly<{
  id: string
  runId: string
  title: string
  status: RunReportTable['status']
  markdown: string
  missing: string[]
  markdownFileId: string | null
  pdfFileId: string | null
  createdAt: string
}>

const toReport = (row: RunReportTable): RunReport => ({
  id: row.id,
  runId: row.run_id,
  title: row.title,
  status: row.status,
  markdown: row.markdown,
  missing: JSON.parse(row.missing),
  markdownFileId: row.markdown_file_id,
  pdfFileId: row.pdf_file_id,
  createdAt: row.created_at,
})

type Tenant = Readonly<{ tenantId: string }>

export async function findReport(db: DbOrTx, { tenantId, id }: Tenant & Readonly<{ id: string }>): Promise<RunReport | undefined> {
  const row = await db.selectFrom('run_reports').selectAll().where('tenant_id', '=', tenantId).where('id', '=', id).executeTakeFirst()
  return row && toReport(row)
}

/** The reports of a run, oldest first. */
export async function reportsOf(db: DbOrTx, { tenantId, runId }: Tenant & Readonly<{ runId: string }>): Promise<RunReport[]> {
  const query = db.selectFrom('run_reports').selectAll().where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toReport)
}
