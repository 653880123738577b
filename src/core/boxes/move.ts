import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import type { BoxCommandKind } from './commands.ts'

// How a box changes hosts, decided. Invariants: the new host gets it only after the old one has stopped it, or a person has said that the old
// host is dead; it is given back only while the new host does not have it; its copy on the old host goes only when a person or time says so.

/**
 * `confirming` = it runs on the new host, and the old one keeps its stopped copy; `stranded` = neither host runs it: it could not be given
 * back, or there was nobody to give it back to, and a person decides; `failed` = it is where it was.
 */
export const MoveState = z.enum([
  'handing_over',
  'taking_over',
  'taking_back',
  'stranded',
  'confirming',
  'removing',
  'done',
  'given_back',
  'failed',
])
export type MoveState = z.infer<typeof MoveState>

/** `refused` = its command failed for good; `lost` = so did it, and nobody is there to give it back to; `abandoned` = another move comes instead. */
export type MoveEvent =
  | 'handed_over'
  | 'taken_over'
  | 'taken_back'
  | 'removed'
  | 'refused'
  | 'lost'
  | 'abandoned'
  | 'back_asked'
  | 'confirmed'
  | 'let_go'

export const moveTable = {
  handing_over: { handed_over: 'taking_over', refused: 'failed', abandoned: 'failed' },
  taking_over: { taken_over: 'confirming', refused: 'taking_back', lost: 'stranded', back_asked: 'taking_back', abandoned: 'failed' },
  taking_back: { taken_back: 'given_back', refused: 'stranded', abandoned: 'failed' },
  stranded: { back_asked: 'taking_back', abandoned: 'failed' },
  confirming: { confirmed: 'removing', let_go: 'done' },
  removing: { removed: 'done', refused: 'confirming', let_go: 'done' },
  done: {},
  given_back: {},
  failed: {},
} as const satisfies Record<MoveState, Partial<Record<MoveEvent, MoveState>>>

/** Throws INVALID_TRANSITION. */
export function transitionMove(state: MoveState, event: MoveEvent): MoveState {
  const next = (moveTable[state] as Partial<Record<MoveEvent, MoveState>>)[event]
  if (!next)
    throw problem('INVALID_TRANSITION', `a move that is ${state.replace('_', ' ')} cannot be ${asked(event)}${instead(state, event)}`)
  return next
}

/** What people ask for, in the words of who types it. */
const asked = (event: MoveEvent): string => (event === 'back_asked' ? 'taken back' : event.replace('_', ' '))

const instead = (state: MoveState, event: MoveEvent): string =>
  state === 'confirming' && event === 'back_asked'
    ? ': the box runs on its new host; end this move (--confirm), then move it there again (--to)'
    : ''

type MoveCommand = Readonly<{ kind: BoxCommandKind; host: 'from' | 'to'; epoch: 'present' | 'next' }>

/** What a state waits for. A command that changes who owns the box comes under a higher epoch than any before it. */
const moveCommands = {
  handing_over: { kind: 'tenant-box.hand_over', host: 'from', epoch: 'present' },
  taking_over: { kind: 'tenant-box.take_over', host: 'to', epoch: 'next' },
  taking_back: { kind: 'tenant-box.take_back', host: 'from', epoch: 'next' },
  removing: { kind: 'tenant-box.remove', host: 'from', epoch: 'present' },
} as const satisfies Partial<Record<MoveState, MoveCommand>>

export const moveCommandOf = (state: MoveState): MoveCommand | undefined => (moveCommands as Partial<Record<MoveState, MoveCommand>>)[state]

const holding: readonly MoveState[] = ['handing_over', 'taking_over', 'taking_back', 'stranded']

/** While nobody else may act on the box. */
export const moveHoldsBox = (state: MoveState): boolean => holding.includes(state)

/** While neither host runs the box for its users. */
export const statesBetweenHosts: readonly MoveState[] = ['taking_over', 'taking_back', 'stranded']

const over: readonly MoveState[] = ['done', 'given_back', 'failed']
export const isMoveFinished = (state: MoveState): boolean => over.includes(state)

/** `told` = the agent said so; `taken` = it ever had the command in hand. */
type Failure = Readonly<{ told: boolean; taken: boolean; oldHostIsDead: boolean }>

/**
 * What a command that ended without a result means. Undefined while only its host knows: it may have done all of it, and whatever the
 * daemon did meanwhile would make two owners. Its late answer is taken, or a person says that the host is gone.
 */
export function eventOfFailure(state: MoveState, { told, taken, oldHostIsDead }: Failure): MoveEvent | undefined {
  if (!told && taken) return undefined
  return state === 'taking_over' && oldHostIsDead ? 'lost' : 'refused'
}

const error = z.object({ code: z.string(), message: z.string() })

/** A move as operators see it. */
export const BoxMove = z.object({
  moveId: z.string(),
  from: z.string().meta({ description: 'Name of the host that it leaves' }),
  to: z.string().meta({ description: 'Name of the host that gets it' }),
  state: MoveState,
  oldHostIsDead: z.boolean(),
  /** The highest ownership that was given out for it. */
  epoch: z.number().int(),
  /** What the new host gets it from. */
  snapshotId: z.string().nullable(),
  snapshotTakenAt: Timestamp.nullable(),
  /** What was written after the snapshot and is lost; null while that is not known, 0 when the old host stopped it first. */
  losesMs: z.number().nullable(),
  reason: z.string(),
  by: z.string(),
  /** The command that is waited for. */
  commandId: z.string().nullable(),
  error: error.nullable(),
  startedAt: Timestamp,
  changedAt: Timestamp,
  /** Then the copy on the old host goes without being confirmed. */
  keepUntil: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
})
export type BoxMove = z.infer<typeof BoxMove>
