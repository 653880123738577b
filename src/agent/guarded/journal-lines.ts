import type { ProbeResult } from '../../core/boxes/index.ts'
import type { JournalEntry } from '../journal/index.ts'
import type { GuardedRun } from './guarded-run.ts'

// What the lines of a change's journal say beside its events: evidence for later steps and for the result.

/** What each step answered when it was done last. */
export const evidenceOf = (entries: readonly JournalEntry[]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(({ mark, data }) => mark === 'done' && data !== undefined).map(({ step, data }) => [step, data]))

export const probesOf = (entries: readonly JournalEntry[]): ProbeResult[] =>
  entries.flatMap(({ mark, data }) => (mark === 'note' ? ((data as { probe?: ProbeResult }).probe ?? []) : []))

/** From the first moment the fence may have stood to the moment it was gone; a box left fenced counts until now. */
export function fencedMs(run: Pick<GuardedRun, 'entries' | 'elapsedMs'>): number {
  const entries = run.entries()
  const raised = entries.find(({ step, mark }) => step === 'fence' && mark === 'done')
  const lifted = entries.findLast(({ step, mark }) => step === 'unfence' && mark === 'done')
  return raised ? (lifted?.elapsedMs ?? run.elapsedMs()) - raised.elapsedMs : 0
}
