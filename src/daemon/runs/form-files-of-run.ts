import type { DbOrTx } from '../db/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { HistoryInput } from './history.repo.ts'
import { findRun } from './runs.repo.ts'

/** `by`: only forms that this user submitted. */
type OfRun = Readonly<{ tenantId: string; runId: string; by?: string }>
type FormFile = Readonly<{ id: string; kind: 'file' | 'signature'; by: string }>

/** The files that forms of a run name, with the user who submitted the form. */
export async function formFilesOf(db: DbOrTx, { tenantId, runId, by }: OfRun): Promise<readonly FormFile[]> {
  const run = await findRun(db, { tenantId, id: runId })
  if (!run) return []
  const { graph } = await boardOf(db, { tenantId, boardId: run.boardId, version: run.boardVersion })
  const files: FormFile[] = []
  for (const { input } of await inputsOf(db, { tenantId, runId })) {
    if (input.type !== 'submit' || (by !== undefined && input.by !== by)) continue
    const form = graph.elements.get(input.elementId)
    const values = (input.values ?? {}) as Readonly<Record<string, unknown>>
    if (form?.kind !== 'form') continue
    for (const { name, kind } of form.config.fields) {
      const id = values[name]
      if ((kind === 'signature' || kind === 'file') && typeof id === 'string') files.push({ id, kind, by: input.by })
    }
  }
  return files
}

export async function inputsOf(db: DbOrTx, { tenantId, runId }: OfRun) {
  const ofRun = db.selectFrom('run_history').select(['seq', 'input']).where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  return (await ofRun.execute()).map(({ seq, input }) => ({ seq, input: JSON.parse(input) as HistoryInput }))
}
