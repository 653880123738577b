import { createHash } from 'node:crypto'
import { prepareFile, type StoreDeps } from '../files/index.ts'
import { type ReportText, renderPdf } from './render-pdf.ts'

type Report = ReportText &
  Readonly<{
    tenantId: string
    spaceId: string
    /** Unique in the tenant, the same for a repeated attempt: the report is stored once. */
    key: string
    /** A user id, or the part of the platform that made the report. */
    createdBy: string
    /** The run that the report is of. */
    runId?: string
  }>

export type StoredReport = Readonly<{ markdownFileId: string; pdfFileId: string }>

/**
 * Stores a report in a space as Markdown and as PDF, both or neither. A repeated call with the same key returns the same files. Throws NOT_FOUND
 * (space), QUOTA_EXCEEDED, OBJECT_STORE_UNAVAILABLE.
 */
export async function storeReport(deps: StoreDeps, report: Report): Promise<StoredReport> {
  const { tenantId, spaceId, createdBy, title, markdown } = report
  const name = title.replace(/[/\\]/g, '-')
  const shared = { tenantId, spaceId, createdBy, ...(report.runId === undefined ? {} : { runId: report.runId }) }
  const text = { id: idOf(report, 'md'), name: `${name}.md`, contentType: 'text/markdown', content: Buffer.from(markdown) }
  const finishText = await prepareFile(deps, { ...shared, ...text })
  const pdf = { id: idOf(report, 'pdf'), name: `${name}.pdf`, contentType: 'application/pdf', content: await renderPdf(report) }
  const finishPdf = await prepareFile(deps, { ...shared, ...pdf })
  return deps.db.transaction().execute(async (tx) => ({ markdownFileId: (await finishText(tx)).id, pdfFileId: (await finishPdf(tx)).id }))
}

const idOf = ({ tenantId, key }: Report, form: 'md' | 'pdf'): string =>
  `fil_${createHash('sha256')
    .update(JSON.stringify([tenantId, key, form]))
    .digest('hex')
    .slice(0, 20)}`
