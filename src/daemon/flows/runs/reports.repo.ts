import type { DbOrTx } from '../../db/index.ts'
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

/** Reports of a run that are listed: a run may have any number of them, each with a long text. */
const maxReports = 100

/** The last reports of a run without their texts, oldest first. */
export async function reportsOf(db: DbOrTx, { tenantId, runId }: Tenant & Readonly<{ runId: string }>) {
  const query = db.selectFrom('run_reports').select(['id', 'title', 'status']).where('tenant_id', '=', tenantId)
  const rows = await query.where('run_id', '=', runId).orderBy('created_at', 'desc').orderBy('id', 'desc').limit(maxReports).execute()
  return rows.toReversed()
}

/** The last reports of a run, oldest first: as many as have `maxCharacters` together, at least one. */
export async function reportTextsOf(
  db: DbOrTx,
  { tenantId, runId }: Tenant & Readonly<{ runId: string }>,
  maxCharacters: number,
): Promise<RunReport[]> {
  const found: RunReport[] = []
  let characters = 0
  for (const { id } of (await reportsOf(db, { tenantId, runId })).toReversed()) {
    const report = await findReport(db, { tenantId, id })
    characters += report?.markdown.length ?? 0
    if (found.length > 0 && characters > maxCharacters) break
    if (report) found.push(report)
  }
  return found.toReversed()
}
