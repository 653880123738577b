import type { Board, ElementOf } from '../../../core/boards/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { boardOf } from './compiled-boards.ts'
import { type SubmitInput, submissionsAfter } from './history.repo.ts'
import { findRun } from './runs.repo.ts'

/** `by`: only forms that this user submitted. */
type OfRun = Readonly<{ tenantId: string; runId: string; by?: string }>
/** `name`: of the field. */
type FormFile = Readonly<{ id: string; name: string; kind: 'file' | 'signature'; by: string }>

/** The files that forms of a run name, with the user who submitted the form, in pages. Reads nothing if no form of the board can name one. */
export async function* formFilesOf(db: DbOrTx, { tenantId, runId, by }: OfRun): AsyncGenerator<readonly FormFile[]> {
  const run = await findRun(db, { tenantId, id: runId })
  if (!run) return
  const { graph } = await boardOf(db, { tenantId, boardId: run.boardId, version: run.boardVersion })
  if (![...graph.elements.values()].some((one) => one.kind === 'form' && fileFieldsOf(one).length > 0)) return
  for await (const page of submissionsOf(db, { tenantId, runId })) {
    const files = page.flatMap(({ input }) => (by === undefined || input.by === by ? filesIn(graph, input) : []))
    if (files.length > 0) yield files
  }
}

/** All submitted forms of a run in pages: together they may be large. */
export async function* submissionsOf(db: DbOrTx, of: Omit<OfRun, 'by'>) {
  let after = 0
  for (;;) {
    const page = await submissionsAfter(db, of, after)
    const last = page.at(-1)
    if (!last) return
    yield page
    after = last.seq
  }
}

export function filesIn(graph: Board['graph'], { elementId, by, values }: SubmitInput): FormFile[] {
  const form = graph.elements.get(elementId)
  if (form?.kind !== 'form') return []
  return fileFieldsOf(form).flatMap(({ name, kind }) => {
    const id = (values as Readonly<Record<string, unknown>> | null)?.[name]
    return typeof id === 'string' ? [{ id, name, kind, by }] : []
  })
}

const fileFieldsOf = ({ config }: ElementOf<'form'>) =>
  config.fields.flatMap(({ name, kind }) => (kind === 'file' || kind === 'signature' ? [{ name, kind }] : []))
