import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addSteps, type FirstReport } from '../../../src/core/hosts/index.ts'

const at = (second: number) => `2026-01-05T02:00:${String(second).padStart(2, '0')}.000Z`
const told = (step: string, second: number) => ({ step, at: at(second) })

test('the first time of each step is kept, however often and late it is reported', () => {
  const first = addSteps([], [told('pull', 1), told('pull', 5), told('fence', 7)])
  expect(first).toEqual([told('pull', 1), told('fence', 7)])
  expect(addSteps(first, [told('pull', 9), told('stop', 10), told('fence', 11)])).toEqual([...first, told('stop', 10)])
})

test('a step counts from its start, not from its report', () => {
  expect(addSteps([], [{ ...told('probe', 40), since: at(12) }])).toEqual([told('probe', 12)])
})

test('an invalid time is no step, and endless lists are truncated', () => {
  expect(addSteps([], [{ step: 'x', at: 'soon' }, told('y', 1)])).toEqual([told('y', 1)])
  const many = Array.from({ length: 500 }, (_, n) => told(`step-${n}`, 1))
  expect(addSteps([], many).length).toBeLessThanOrEqual(60)
})

test('reported in any parts, the list is the same', () => {
  const step = fc.record({ step: fc.constantFrom('a', 'b', 'c', 'd'), at: fc.integer({ min: 0, max: 59 }).map(at) })
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 0, max: 20 }), (all, cut) => {
      const inParts = addSteps(addSteps([], all.slice(0, cut)), all.slice(cut))
      expect(inParts).toEqual<FirstReport[]>(addSteps([], all))
    }),
  )
})
