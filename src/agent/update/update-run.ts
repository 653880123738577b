import { type BoxCommandPayload, foldUpdate, type UpdateFacts, type UpdateStep } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { eventsOf, type Run, startGuardedRun } from '../guarded/index.ts'
import type { CommandRecord } from '../journal/index.ts'
import type { CommandContext, LocalBox } from '../ports/index.ts'
import { type Evidence, updateEvidence } from './evidence.ts'
import type { UpdateNeeds } from './needs.ts'

export type UpdatePayload = BoxCommandPayload<'tenant-box.update'>

/** One update in the hands of one agent. */
export type UpdateRun = Run<UpdateStep, UpdatePayload, UpdateNeeds, Evidence>

type Start = Readonly<{ needs: UpdateNeeds; context: CommandContext; payload: UpdatePayload; box: LocalBox; record: CommandRecord }>

/** What the journal says of it. */
export const factsOf = (run: Pick<UpdateRun, 'entries'>): UpdateFacts => foldUpdate(eventsOf(run.entries()))

/** Without a fence the stop is the first thing that users notice. */
export const holdsBox: readonly UpdateStep[] = ['fence', 'stop']

export const startRun = (start: Start): UpdateRun =>
  startGuardedRun(start, { facts: (entries) => foldUpdate(eventsOf(entries)), evidence: updateEvidence, holdsBox })

/** What the first step found and wrote down; every later one builds on it. */
export function beforeOf(run: UpdateRun): NonNullable<Evidence['prefetch']> {
  const { prefetch } = run.evidence()
  if (!prefetch) throw problem('INTERNAL', `the update ${run.context.commandId} has no record of the box before it`)
  return prefetch
}
