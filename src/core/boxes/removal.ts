import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import type { BoxCommandKind } from './commands.ts'

// The state machine of a removal. Invariants: nothing is erased before the box was stopped and a last snapshot taken, unless it never ran or is broken;
// until it is erased it can be restored. On a revoked host a removal is finished in any state, because its data is unreachable.

/** `kept` = stopped and fenced on its host, with all its data; `failed` = it still runs. */
export const RemovalState = z.enum(['handing_over', 'kept', 'taking_back', 'erasing', 'erased', 'undone', 'failed'])
export type RemovalState = z.infer<typeof RemovalState>

export type RemovalEvent = 'handed_over' | 'taken_back' | 'erased' | 'refused' | 'undo_asked' | 'erase_asked' | 'host_gone'

export const removalTable = {
  handing_over: { handed_over: 'kept', refused: 'failed', host_gone: 'erased' },
  kept: { undo_asked: 'taking_back', erase_asked: 'erasing', host_gone: 'erased' },
  taking_back: { taken_back: 'undone', refused: 'kept', host_gone: 'erased' },
  erasing: { erased: 'erased', refused: 'kept', host_gone: 'erased' },
  erased: {},
  undone: {},
  failed: {},
} as const satisfies Record<RemovalState, Partial<Record<RemovalEvent, RemovalState>>>

/** Throws INVALID_TRANSITION. */
export function transitionRemoval(state: RemovalState, event: RemovalEvent): RemovalState {
  const next = (removalTable[state] as Partial<Record<RemovalEvent, RemovalState>>)[event]
  if (!next) throw problem('INVALID_TRANSITION', `a removal in state ${state} cannot be ${eventText(event)}`)
  return next
}

const eventText = (event: RemovalEvent): string =>
  event === 'undo_asked' ? 'undone' : event === 'erase_asked' ? 'erased' : event.replace('_', ' ')

type RemovalCommand = Readonly<{ kind: BoxCommandKind; epoch: 'present' | 'next' }>

/** The command that each state waits for. */
export const removalCommands = {
  handing_over: { kind: 'tenant-box.hand_over', epoch: 'present' },
  taking_back: { kind: 'tenant-box.take_back', epoch: 'next' },
  erasing: { kind: 'tenant-box.remove', epoch: 'present' },
} as const satisfies Partial<Record<RemovalState, RemovalCommand>>

const over: readonly RemovalState[] = ['erased', 'undone', 'failed']
export const isRemovalFinished = (state: RemovalState): boolean => over.includes(state)

/** A removal as operators see it. */
export const BoxRemoval = z.object({
  removalId: z.string(),
  state: RemovalState,
  /** The last snapshot of the box. */
  snapshotId: z.string().nullable(),
  /** Objects that it left on the host, and the reason why it has no last snapshot. */
  remarks: z.array(z.string()),
  reason: z.string(),
  by: z.string(),
  commandId: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  startedAt: Timestamp,
  changedAt: Timestamp,
  /** Its data on the host is erased then. */
  keepUntil: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
})
export type BoxRemoval = z.infer<typeof BoxRemoval>
