import { expect, test } from 'vitest'
import { rollbackSpanOf } from '../../../src/core/rollouts/index.ts'

const at = (clock: string) => `2026-01-05T${clock}.000Z`
const minute = 60_000
const counts = { total: 3, pending: 0, running: 0, done: 2, failed: 1 }
const box = (slug: string, from: string, to: string | null) => ({ slug, startedAt: at(from), finishedAt: to && at(to) })
const given = {
  rolledBackAt: at('02:00:00'),
  now: at('03:00:00'),
  counts,
  boxes: [box('a', '02:01:00', '02:04:00'), box('b', '02:04:00', '02:12:00'), box('c', '02:04:00', '02:09:00')],
}

test('it lasts from the word for it to the end of its last box, and the worst box is named', () => {
  expect(rollbackSpanOf(given)).toEqual({
    startedAt: at('02:00:00'),
    endedAt: at('02:12:00'),
    durationMs: 12 * minute,
    boxes: { boxes: 3, medianMs: 5 * minute, worstMs: 8 * minute, worstSlug: 'b' },
  })
})

test('a box that was tried again counts with both', () => {
  const again = [...given.boxes, box('a', '02:30:00', '02:36:00')]
  expect(rollbackSpanOf({ ...given, boxes: again })).toMatchObject({
    endedAt: at('02:36:00'),
    boxes: { worstMs: 9 * minute, worstSlug: 'a' },
  })
})

test.each([
  ['boxes to come', { pending: 1 }],
  ['boxes on their way', { running: 1 }],
])('with %s it goes on until now', (_, more) => {
  const open = rollbackSpanOf({ ...given, counts: { ...counts, ...more }, boxes: [...given.boxes, box('d', '02:59:00', null)] })
  expect(open).toMatchObject({ endedAt: null, durationMs: 60 * minute, boxes: { boxes: 3 } })
})

test('before the first box is through there is nothing to say of boxes', () => {
  const first = rollbackSpanOf({ ...given, counts: { ...counts, pending: 3 }, boxes: [] })
  expect(first).toEqual({ startedAt: at('02:00:00'), endedAt: null, durationMs: 60 * minute, boxes: null })
})

test.each([
  ['a rollout that runs', { rolledBackAt: null }],
  ['one whose boxes stay as they are', { counts: null, boxes: [] }],
  ['one whose boxes could none of them go back', { boxes: [] }],
])('%s has none', (_, change) => {
  expect(rollbackSpanOf({ ...given, ...change })).toBeNull()
})
