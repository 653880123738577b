import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isRemovalFinished, type RemovalEvent, RemovalState, transitionRemoval } from '../../../src/core/boxes/index.ts'
import { removalTable } from '../../../src/core/boxes/removal.ts'

const rows: [RemovalState, RemovalEvent, RemovalState][] = [
  ['handing_over', 'handed_over', 'kept'],
  ['handing_over', 'refused', 'failed'],
  ['handing_over', 'host_gone', 'erased'],
  ['kept', 'undo_asked', 'taking_back'],
  ['kept', 'erase_asked', 'erasing'],
  ['kept', 'host_gone', 'erased'],
  ['taking_back', 'taken_back', 'undone'],
  ['taking_back', 'refused', 'kept'],
  ['taking_back', 'host_gone', 'erased'],
  ['erasing', 'erased', 'erased'],
  ['erasing', 'refused', 'kept'],
  ['erasing', 'host_gone', 'erased'],
]
const events: RemovalEvent[] = ['handed_over', 'taken_back', 'erased', 'refused', 'undo_asked', 'erase_asked']

describe('a removal', () => {
  test.each(rows)('%s + %s -> %s', (state, event, next) => expect(transitionRemoval(state, event)).toBe(next))

  test('explains a refused transition', () => {
    expect(() => transitionRemoval('erased', 'undo_asked')).toThrow('a removal in state erased cannot be undone')
    expect(() => transitionRemoval('failed', 'erase_asked')).toThrow('a removal in state failed cannot be erased')
  })

  test('has no other transitions', () => {
    const given = Object.entries(removalTable).flatMap(([state, moves]) =>
      Object.entries(moves).map(([event, next]) => [state, event, next]),
    )
    expect(given).toEqual(rows)
  })

  test('erases nothing that was not handed over before, and ends', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 30 }), (said) => {
        let state: RemovalState = 'handing_over'
        const path: RemovalState[] = [state]
        for (const event of said) {
          try {
            state = transitionRemoval(state, event)
          } catch {
            continue
          }
          path.push(state)
        }
        if (path.includes('erasing')) expect(path.indexOf('kept')).toBe(1)
        for (const [at, one] of path.entries()) if (isRemovalFinished(one)) expect(at).toBe(path.length - 1)
      }),
    )
  })

  test('is finished when nothing is left to restore or to erase', () => {
    expect(RemovalState.options.filter(isRemovalFinished)).toEqual(['erased', 'undone', 'failed'])
  })
})
