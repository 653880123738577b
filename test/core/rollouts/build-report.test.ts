import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildTimeline, type PhaseBoxes, spreadOf, stepSpreads } from '../../../src/core/rollouts/index.ts'

const at = (clock: string) => `2026-01-05T${clock}.000Z`
const line = (clock: string, action: string, data: unknown = {}, actor = 'system:rollouts') => ({ at: at(clock), actor, action, data })
const boxes: PhaseBoxes[] = [
  { phase: 'canary', boxes: 1, succeeded: 1, failed: 0 },
  { phase: 'free_5', boxes: 4, succeeded: 2, failed: 1 },
]
const begun = [
  line('02:00:00', 'rollout.created', { reason: 'weekly' }, 'admin:anna'),
  line('02:00:10', 'rollout.started', {}, 'admin:anna'),
  line('02:10:10', 'rollout.phase', { from: 'canary', to: 'free_5' }),
]

test('phases last from their beginning to the next one, and know how much of it was a pause', () => {
  const lines = [
    ...begun,
    line('02:20:00', 'rollout.paused', { reason: 'lunch' }, 'admin:anna'),
    line('02:30:00', 'rollout.resumed', {}, 'admin:bert'),
    line('02:40:10', 'rollout.done', { from: 'free_5', to: 'done' }),
  ]
  const { phases, pauses, timeline } = buildTimeline({ kind: 'staged', lines, boxes, now: at('09:00:00') })
  expect(phases).toEqual([
    {
      phase: 'canary',
      startedAt: at('02:00:10'),
      endedAt: at('02:10:10'),
      durationMs: 600_000,
      pausedMs: 0,
      boxes: 1,
      succeeded: 1,
      failed: 0,
    },
    {
      phase: 'free_5',
      startedAt: at('02:10:10'),
      endedAt: at('02:40:10'),
      durationMs: 1_800_000,
      pausedMs: 600_000,
      boxes: 4,
      succeeded: 2,
      failed: 1,
    },
  ])
  const told = { at: at('02:20:00'), by: 'admin:anna', reason: 'lunch', phase: 'free_5' }
  expect(pauses).toEqual([{ ...told, until: at('02:30:00'), endedBy: 'admin:bert', durationMs: 600_000 }])
  expect(timeline.map(({ action, phase, reason }) => [action, phase, reason])).toEqual([
    ['rollout.created', null, 'weekly'],
    ['rollout.started', 'canary', null],
    ['rollout.phase', 'free_5', null],
    ['rollout.paused', 'free_5', 'lunch'],
    ['rollout.resumed', 'free_5', null],
    ['rollout.done', 'free_5', null],
  ])
})

test('what goes on lasts until now; an end in a pause ends both', () => {
  const paused = [...begun, line('02:20:10', 'rollout.paused', { reason: 'x' })]
  const open = buildTimeline({ kind: 'staged', lines: paused, boxes, now: at('02:30:10') })
  expect(open.phases[1]).toMatchObject({ endedAt: null, durationMs: 1_200_000, pausedMs: 600_000 })
  expect(open.pauses[0]).toMatchObject({ until: null, durationMs: 600_000 })
  const ended = buildTimeline({
    kind: 'staged',
    lines: [...paused, line('02:25:10', 'rollout.failed', {}, 'admin:anna')],
    boxes,
    now: at('09:00:00'),
  })
  expect(ended.phases[1]).toMatchObject({ endedAt: at('02:25:10'), durationMs: 900_000, pausedMs: 300_000 })
  expect(ended.pauses[0]).toMatchObject({ until: at('02:25:10'), endedBy: 'admin:anna' })
})

test('an emergency begins in pro; entries that nobody can read tell what they can', () => {
  const lines = [
    line('02:00:10', 'rollout.started'),
    line('02:01:00', 'rollout.phase', null),
    line('02:02:00', 'rollout.rollback.stopped', '{'),
  ]
  const { timeline } = buildTimeline({ kind: 'emergency_cve', lines, boxes: [], now: at('03:00:00') })
  expect(timeline.map(({ phase, reason }) => [phase, reason])).toEqual([
    ['pro', null],
    ['pro', null],
    ['pro', null],
  ])
})

test('of a rollout that was rolled back it is told what was to become of its boxes, where that can be read', () => {
  const rolledBack = (boxes: unknown) => line('02:01:00', 'rollout.rolled_back', { reason: 'bad', boxes }, 'admin:anna')
  const lines = [...begun, rolledBack('snapshot'), rolledBack('none'), rolledBack('sideways'), rolledBack(undefined)]
  const { timeline } = buildTimeline({ kind: 'staged', lines, boxes: [], now: at('03:00:00') })
  expect(timeline.slice(begun.length).map(({ boxes }) => boxes)).toEqual(['snapshot', 'none', undefined, undefined])
  expect(timeline.slice(0, begun.length).some((entry) => 'boxes' in entry)).toBe(false)
})

test('how many boxes never had their turn is told where it was ended, and where there were any', () => {
  const failed = (cancelled: unknown) => line('02:01:00', 'rollout.failed', { reason: 'bad', cancelled }, 'admin:anna')
  const lines = [failed(7), failed(0), failed('many'), failed(undefined)]
  const { timeline } = buildTimeline({ kind: 'staged', lines, boxes: [], now: at('03:00:00') })
  expect(timeline.map((entry) => ('cancelled' in entry ? entry.cancelled : null))).toEqual([7, null, null, null])
})

test('the middle and the worst are among what was measured, and the worst is named', () => {
  const took = fc.array(fc.record({ slug: fc.constantFrom('a', 'b', 'c'), ms: fc.nat() }), { minLength: 1 })
  fc.assert(
    fc.property(took, (all) => {
      const spread = spreadOf(all)
      expect(spread?.worstMs).toBe(Math.max(...all.map(({ ms }) => ms)))
      expect(all).toContainEqual({ slug: spread?.worstSlug, ms: spread?.worstMs })
      expect(all.filter(({ ms }) => ms <= (spread?.medianMs ?? 0)).length * 2).toBeGreaterThanOrEqual(all.length - 1)
    }),
  )
  expect(spreadOf([])).toBeNull()
})

test('steps stand in the order in which they come, also when some boxes had more of them', () => {
  const spreads = stepSpreads([
    {
      slug: 'a',
      steps: [
        { step: 'pull', durationMs: 10 },
        { step: 'fence', durationMs: 1 },
        { step: 'probe', durationMs: null },
      ],
    },
    {
      slug: 'b',
      steps: [
        { step: 'pull', durationMs: 30 },
        { step: 'warm', durationMs: 5 },
        { step: 'fence', durationMs: 3 },
      ],
    },
  ])
  expect(spreads.map(({ step }) => step)).toEqual(['pull', 'warm', 'fence'])
  expect(spreads[0]).toEqual({ step: 'pull', boxes: 2, medianMs: 10, worstMs: 30, worstSlug: 'b' })
})
