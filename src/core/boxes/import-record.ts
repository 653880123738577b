import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { ImportFacts, WrittenSince } from './import-commands.ts'

/** `imported` = the box runs, and its foreign stack is stopped and complete, as the return path; `failed` and `undone` = the foreign stack runs. */
export const ImportState = z.enum(['importing', 'imported', 'undoing', 'finishing', 'failed', 'undone', 'finished'])
export type ImportState = z.infer<typeof ImportState>

/** `refused` = the command failed for good; `left` = the box is on another host or removed, so that its stack is no return path any more. */
export type ImportEvent = 'done' | 'refused' | 'undo_asked' | 'finish_asked' | 'left'

const importTable = {
  importing: { done: 'imported', refused: 'failed' },
  imported: { undo_asked: 'undoing', finish_asked: 'finishing', left: 'finished' },
  undoing: { done: 'undone', refused: 'imported' },
  finishing: { done: 'finished', refused: 'imported' },
  failed: {},
  undone: {},
  finished: {},
} as const satisfies Record<ImportState, Partial<Record<ImportEvent, ImportState>>>

/** Throws INVALID_TRANSITION. */
export function importTransition(state: ImportState, event: ImportEvent): ImportState {
  const next = (importTable[state] as Partial<Record<ImportEvent, ImportState>>)[event]
  if (next) return next
  throw problem(
    'INVALID_TRANSITION',
    `an import in state ${state} cannot be ${event === 'undo_asked' ? 'undone' : event.replace('_asked', 'ed')}`,
  )
}

/** An import as operators see it. */
export const BoxImport = z.object({
  importId: z.string(),
  state: ImportState,
  reason: z.string(),
  by: z.string(),
  /** Folder and compose project of the foreign stack. */
  folder: z.string(),
  project: z.string(),
  /** Parts that the box lacks, as it was accepted. */
  dropped: z.array(z.string()),
  /** Null until it is imported. */
  facts: ImportFacts.nullable(),
  importedAt: Timestamp.nullable(),
  /** Content written in the box until it was undone. */
  written: WrittenSince,
  /** The pending command. */
  commandId: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  startedAt: Timestamp,
  changedAt: Timestamp,
  finishedAt: Timestamp.nullable(),
})
export type BoxImport = z.infer<typeof BoxImport>
