import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import {
  isOver,
  phaseOf,
  phaseOrder,
  RolloutKind,
  type RolloutMove,
  type RolloutState,
  RolloutStatus,
  transition,
} from '../../../src/core/rollouts/index.ts'

const at = '2026-01-05T02:00:00.000Z'
const moves: readonly RolloutMove[] = [
  { type: 'start', at },
  { type: 'bake', until: '2026-01-05T03:00:00.000Z', at },
  { type: 'advance', at },
  { type: 'pause', reason: 'lunch', at },
  { type: 'resume', at },
  { type: 'fail', error: 'no more', at },
  { type: 'rollback', reason: 'no more', at },
]

const aState = (kind: RolloutKind, status: RolloutStatus): RolloutState => ({
  kind,
  status,
  previousStatus: status === 'paused' ? 'pro' : null,
  pauseReason: status === 'paused' ? 'lunch' : null,
  error: null,
  bakeUntil: null,
  gates: [],
  startedAt: null,
  finishedAt: null,
})

const running = { pause: 'paused', fail: 'failed', rollback: 'rolled_back' }
const paused = { resume: 'pro', fail: 'failed', rollback: 'rolled_back' }

/** The whole table: what is not in it is InvalidTransition. */
const table: Record<RolloutKind, Partial<Record<RolloutStatus, Partial<Record<RolloutMove['type'], string>>>>> = {
  staged: {
    queued: { start: 'canary', fail: 'failed' },
    canary: { bake: 'canary', advance: 'free_5', ...running },
    free_5: { bake: 'free_5', advance: 'free_100', ...running },
    free_100: { bake: 'free_100', advance: 'pro', ...running },
    pro: { bake: 'pro', advance: 'enterprise', ...running },
    enterprise: { bake: 'enterprise', advance: 'done', ...running },
    paused,
  },
  emergency_cve: {
    queued: { start: 'pro', fail: 'failed' },
    pro: { bake: 'pro', advance: 'enterprise', ...running },
    enterprise: { bake: 'enterprise', advance: 'free_100', ...running },
    free_100: { bake: 'free_100', advance: 'done', ...running },
    paused,
  },
}

const rows = RolloutKind.options.flatMap((kind) =>
  RolloutStatus.options.flatMap((status) =>
    moves.map((move) => ({ kind, status, move, type: move.type, to: table[kind][status]?.[move.type] ?? 'InvalidTransition' })),
  ),
)

const tried = (state: RolloutState, move: RolloutMove): RolloutState | undefined => {
  try {
    return transition(state, move)
  } catch (error) {
    if (!isProblem(error, 'INVALID_TRANSITION')) throw error
    return undefined
  }
}

test.each(rows)('$kind: $status + $type -> $to', ({ kind, status, move, to }) => {
  expect(tried(aState(kind, status), move)?.status ?? 'InvalidTransition').toBe(to)
})

describe('properties', () => {
  const aKind = fc.constantFrom(...RolloutKind.options)
  const someMoves = fc.array(fc.constantFrom(...moves), { maxLength: 30 })
  const played = (kind: RolloutKind, list: readonly RolloutMove[]) => {
    const states = [aState(kind, 'queued')]
    for (const move of list) states.push(tried(states.at(-1) as RolloutState, move) ?? (states.at(-1) as RolloutState))
    return states
  }

  test('no action leaves a terminal state', () => {
    fc.assert(
      fc.property(aKind, someMoves, (kind, list) => {
        const states = played(kind, list)
        const over = states.findIndex(({ status }) => isOver(status))
        if (over >= 0) expect(new Set(states.slice(over).map(({ status }) => status)).size).toBe(1)
      }),
    )
  })

  test('resume always returns to the state before the pause; an interrupted bake starts again', () => {
    fc.assert(
      fc.property(aKind, someMoves, (kind, list) => {
        const state = played(kind, list).at(-1) as RolloutState
        const rested = tried(state, { type: 'pause', reason: 'lunch', at })
        if (!rested) return
        expect(transition(rested, { type: 'resume', at })).toEqual({ ...state, bakeUntil: null })
      }),
    )
  })

  test('a running rollout is always in a phase of its own kind, and phases come in their order', () => {
    fc.assert(
      fc.property(aKind, someMoves, (kind, list) => {
        const phases = played(kind, list).flatMap((state) => phaseOf(state) ?? [])
        const order: readonly string[] = phaseOrder[kind]
        const places = phases.map((phase) => order.indexOf(phase))
        expect(places).toEqual([...places].sort((a, b) => a - b))
      }),
    )
  })

  test('it is finished exactly when it is over', () => {
    fc.assert(
      fc.property(aKind, someMoves, (kind, list) => {
        for (const { status, finishedAt } of played(kind, list)) expect(finishedAt !== null).toBe(isOver(status))
      }),
    )
  })
})

test('a refused move names what is possible instead', () => {
  expect(() => transition(aState('staged', 'queued'), { type: 'pause', reason: 'lunch', at })).toThrow(
    /cannot pause a rollout that is queued; possible now: start, abort$/,
  )
})
