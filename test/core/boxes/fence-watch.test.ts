import { expect, test } from 'vitest'
import { fenceDueAt } from '../../../src/core/boxes/index.ts'

const since = '2026-01-05T02:00:00.000Z'
const quarter = 15 * 60_000

test.each([
  ['no known work', { holder: null, since }, undefined, '2026-01-05T02:15:00.000Z'],
  ['work with a later deadline', { holder: 'cmd_1', since }, '2026-01-05T04:00:00.000Z', '2026-01-05T04:00:00.000Z'],
  ['work whose deadline passed before it', { holder: 'cmd_1', since }, '2026-01-05T02:01:00.000Z', '2026-01-05T02:15:00.000Z'],
  ['maintenance', { holder: 'maintenance', since }, undefined, undefined],
])('a fence for %s becomes overdue after its time', (_, fence, deadlineAt, dueAt) =>
  expect(fenceDueAt(fence, deadlineAt, quarter)).toBe(dueAt),
)
