import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import type { BoxCommandKind } from './commands.ts'

// The state machine of a move between hosts. Invariants: the new host gets the box only after the old one stopped it, or a person declared the old
// host dead; it is taken back only while the new host does not have it, or a person stated that it does not run there; the old copy is deleted only
// after confirmation or expiry.

/**
 * `confirming` = it runs on the new host, and the old host keeps a stopped copy; `stranded` = the old host does not run it and an operator
 * decides, see `mayRunUnknown`; `failed` = it is on its old host.
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

/** `refused` = the command failed permanently; `lost` = it failed and the old host is dead, or the agent of the new host lost it; `abandoned` = another move replaces it. */
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
  if (!next) throw problem('INVALID_TRANSITION', `a move in state ${state} cannot be ${eventText(event)}${alternative(state, event)}`)
  return next
}

const eventText = (event: MoveEvent): string => (event === 'back_asked' ? 'taken back' : event.replace('_', ' '))

const alternative = (state: MoveState, event: MoveEvent): string =>
  state === 'confirming' && event === 'back_asked'
    ? '; the box runs on its new host. fix: confirm this move (--confirm), then move the box again (--to)'
    : ''

type MoveCommand = Readonly<{ kind: BoxCommandKind; host: 'from' | 'to'; epoch: 'present' | 'next' }>

/** The command that each state waits for. A command that changes the ownership has a higher epoch than any before. */
const moveCommands = {
  handing_over: { kind: 'tenant-box.hand_over', host: 'from', epoch: 'present' },
  taking_over: { kind: 'tenant-box.take_over', host: 'to', epoch: 'next' },
  taking_back: { kind: 'tenant-box.take_back', host: 'from', epoch: 'next' },
  removing: { kind: 'tenant-box.remove', host: 'from', epoch: 'present' },
} as const satisfies Partial<Record<MoveState, MoveCommand>>

export const moveCommandOf = (state: MoveState): MoveCommand | undefined => (moveCommands as Partial<Record<MoveState, MoveCommand>>)[state]

const holding: readonly MoveState[] = ['handing_over', 'taking_over', 'taking_back', 'stranded']

/** True if the move holds the box in this state. */
export const moveHoldsBox = (state: MoveState): boolean => holding.includes(state)

/** True if the containers of a stranded box may run on its new host, whose new agent does not know the box: an agent lost its state folder. */
export const mayRunUnknown = ({ state, error }: Readonly<{ state: MoveState; error: Readonly<{ code: string }> | null }>): boolean =>
  state === 'stranded' && error?.code === 'HOST_REVOKED'

/** States in which neither host runs the box for its users. */
export const statesBetweenHosts: readonly MoveState[] = ['taking_over', 'taking_back', 'stranded']

const over: readonly MoveState[] = ['done', 'given_back', 'failed']
export const isMoveFinished = (state: MoveState): boolean => over.includes(state)

/** `reported` = by the agent; `leased` = an agent fetched the command; `isLost` = the agent lost it with its state folder: no result will come. */
type Failure = Readonly<{ reported: boolean; leased: boolean; oldHostIsDead: boolean; isLost?: boolean }>

/**
 * The event of a command that ended without a result. Undefined while only its host knows the outcome: acting then could create two owners. The
 * daemon waits for the late result, or until a person declares the host dead. A lost take-over strands the move: the new host may run the box.
 */
export function eventOfFailure(state: MoveState, failure: Failure): MoveEvent | undefined {
  const { reported, leased, oldHostIsDead, isLost = false } = failure
  if (!reported && leased && !isLost) return undefined
  return state === 'taking_over' && (oldHostIsDead || isLost) ? 'lost' : 'refused'
}

const error = z.object({ code: z.string(), message: z.string() })

/** A move as operators see it. */
export const BoxMove = z.object({
  moveId: z.string(),
  from: z.string().meta({ description: 'Name of the old host' }),
  to: z.string().meta({ description: 'Name of the new host' }),
  state: MoveState,
  oldHostIsDead: z.boolean(),
  mayRunOnNewHost: z.boolean().meta({ description: 'Stranded, and its containers may run on the new host: a person must stop them there' }),
  /** The highest ownership epoch given out for it. */
  epoch: z.number().int(),
  /** The snapshot for the new host. */
  snapshotId: z.string().nullable(),
  snapshotTakenAt: Timestamp.nullable(),
  /** Data loss: time from the snapshot to the start of the move; null while unknown, 0 when the old host stopped it first. */
  losesMs: z.number().nullable(),
  reason: z.string(),
  by: z.string(),
  /** The pending command. */
  commandId: z.string().nullable(),
  error: error.nullable(),
  startedAt: Timestamp,
  changedAt: Timestamp,
  /** The copy on the old host is deleted then, without confirmation. */
  keepUntil: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
})
export type BoxMove = z.infer<typeof BoxMove>
