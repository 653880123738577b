import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  eventOfFailure,
  isMoveFinished,
  type MoveEvent,
  MoveState,
  moveCommandOf,
  moveHoldsBox,
  transitionMove,
} from '../../../src/core/boxes/index.ts'
import { moveTable } from '../../../src/core/boxes/move.ts'
import { isProblem } from '../../../src/core/kit/index.ts'

const rows: [MoveState, MoveEvent, MoveState][] = [
  ['handing_over', 'handed_over', 'taking_over'],
  ['handing_over', 'refused', 'failed'],
  ['handing_over', 'abandoned', 'failed'],
  ['taking_over', 'taken_over', 'confirming'],
  ['taking_over', 'refused', 'taking_back'],
  ['taking_over', 'lost', 'stranded'],
  ['taking_over', 'back_asked', 'taking_back'],
  ['taking_over', 'abandoned', 'failed'],
  ['taking_back', 'taken_back', 'given_back'],
  ['taking_back', 'refused', 'stranded'],
  ['taking_back', 'abandoned', 'failed'],
  ['stranded', 'back_asked', 'taking_back'],
  ['stranded', 'abandoned', 'failed'],
  ['confirming', 'confirmed', 'removing'],
  ['confirming', 'let_go', 'done'],
  ['removing', 'removed', 'done'],
  ['removing', 'refused', 'confirming'],
  ['removing', 'let_go', 'done'],
]
const events: MoveEvent[] = [
  'handed_over',
  'taken_over',
  'taken_back',
  'removed',
  'refused',
  'lost',
  'abandoned',
  'back_asked',
  'confirmed',
  'let_go',
]

describe('a move', () => {
  test.each(rows)('%s + %s -> %s', (state, event, next) => expect(transitionMove(state, event)).toBe(next))

  test('explains a refused transition, with the alternative', () => {
    expect(() => transitionMove('given_back', 'back_asked')).toThrow(/^a move in state given_back cannot be taken back$/)
    expect(() => transitionMove('confirming', 'back_asked')).toThrow(
      /cannot be taken back; the box runs on its new host. fix: confirm this move \(--confirm\)/,
    )
  })

  test('has no other transitions', () => {
    const given = Object.entries(moveTable).flatMap(([state, moves]) => Object.entries(moves).map(([event, next]) => [state, event, next]))
    expect(given).toEqual(rows)
    for (const state of MoveState.options)
      for (const event of events)
        if (!rows.some(([from, by]) => from === state && by === event))
          expect(() => transitionMove(state, event)).toThrow(expect.toSatisfy((error) => isProblem(error, 'INVALID_TRANSITION')))
  })

  test('holds the box exactly until one host has it and runs it', () => {
    expect(MoveState.options.filter(moveHoldsBox)).toEqual(['handing_over', 'taking_over', 'taking_back', 'stranded'])
  })

  test('once the new host has it no other host runs it, and the old copy is deleted only after confirmation or expiry', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 30 }), (said) => {
        let state: MoveState = 'handing_over'
        const path: MoveState[] = [state]
        for (const event of said) {
          try {
            state = transitionMove(state, event)
          } catch {
            continue
          }
          path.push(state)
        }
        const takenOver = path.indexOf('confirming')
        if (takenOver >= 0) expect(path.slice(takenOver)).not.toContain('taking_back')
        for (const [at, one] of path.entries()) if (one === 'removing') expect(path[at - 1]).toBe('confirming')
        expect(path.indexOf('taking_over') < 0 || path.indexOf('taking_over') === 1).toBe(true)
      }),
    )
  })

  test('no event leaves a finished move', () => {
    for (const state of MoveState.options.filter(isMoveFinished))
      for (const event of events) expect(() => transitionMove(state, event)).toThrow()
  })

  test('only a command that changes the ownership has a new epoch', () => {
    const orders = MoveState.options.flatMap((state) => moveCommandOf(state) ?? [])
    expect(orders.map(({ kind, host, epoch }) => `${kind} ${host} ${epoch}`)).toEqual([
      'tenant-box.hand_over from present',
      'tenant-box.take_over to next',
      'tenant-box.take_back from next',
      'tenant-box.remove from present',
    ])
  })

  test.each([
    ['taking_over', { reported: false, leased: true, oldHostIsDead: false }, undefined],
    ['taking_over', { reported: false, leased: false, oldHostIsDead: false }, 'refused'],
    ['taking_over', { reported: true, leased: true, oldHostIsDead: false }, 'refused'],
    ['taking_over', { reported: true, leased: true, oldHostIsDead: true }, 'lost'],
    ['handing_over', { reported: false, leased: true, oldHostIsDead: false }, undefined],
    ['handing_over', { reported: true, leased: true, oldHostIsDead: false }, 'refused'],
    ['taking_back', { reported: true, leased: true, oldHostIsDead: true }, 'refused'],
    ['handing_over', { reported: false, leased: true, oldHostIsDead: false, isLost: true }, 'refused'],
    ['taking_over', { reported: false, leased: true, oldHostIsDead: false, isLost: true }, 'lost'],
    ['taking_back', { reported: false, leased: true, oldHostIsDead: false, isLost: true }, 'refused'],
    ['removing', { reported: false, leased: true, oldHostIsDead: false, isLost: true }, 'refused'],
  ] as const)('%s, whose command ended with %j, is %s', (state, failure, event) => expect(eventOfFailure(state, failure)).toBe(event))
})
