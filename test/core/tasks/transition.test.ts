import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type TaskMove, TaskStatus, transition } from '../../../src/core/tasks/index.ts'

const at = '2026-01-05T02:00:00.000Z'

const aTask = (status: TaskStatus, more = {}) => ({
  ...{ status, assignedRole: 'teacher' as string | null, assigneeId: null as string | null },
  ...{ escalationLevel: 0, escalatedAt: null as string | null, ...more },
})

const moves = {
  start: { type: 'start', by: 'anna' },
  assign: { type: 'assign', assigneeId: 'ben' },
  complete: { type: 'complete' },
  cancel: { type: 'cancel' },
  escalate: { type: 'escalate', at },
} as const satisfies Record<TaskMove['type'], TaskMove>

const refused = 'INVALID_TRANSITION'
const table: readonly (readonly [TaskStatus, TaskMove['type'], TaskStatus | typeof refused])[] = [
  ['open', 'start', 'in_progress'],
  ['open', 'assign', 'open'],
  ['open', 'complete', 'done'],
  ['open', 'cancel', 'cancelled'],
  ['open', 'escalate', 'open'],
  ['in_progress', 'start', refused],
  ['in_progress', 'assign', 'open'],
  ['in_progress', 'complete', 'done'],
  ['in_progress', 'cancel', 'cancelled'],
  ['in_progress', 'escalate', 'in_progress'],
  ...(['done', 'cancelled'] as const).flatMap((status) =>
    (['start', 'assign', 'complete', 'cancel', 'escalate'] as const).map((type) => [status, type, refused] as const),
  ),
]

test.each(table)('%s + %s -> %s', (from, type, to) => {
  const make = () => transition(aTask(from, { assigneeId: 'anna' }), moves[type])
  if (to === refused) expect(make).toThrow(expect.objectContaining({ code: refused }))
  else expect(make().status).toBe(to)
})

describe('effects of a transition', () => {
  test('starting an unassigned task assigns it; an assigned one keeps its assignee', () => {
    expect(transition(aTask('open'), moves.start).assigneeId).toBe('anna')
    expect(transition(aTask('open', { assigneeId: 'ben' }), moves.start).assigneeId).toBe('ben')
  })

  test('an assignment to the same user changes nothing and publishes nothing', () => {
    const task = aTask('in_progress', { assigneeId: 'ben' })
    expect(transition(task, moves.assign)).toBe(task)
  })

  test('an escalation to a reached level changes nothing', () => {
    const task = aTask('open', { escalationLevel: 2, escalatedAt: at })
    expect(transition(task, { ...moves.escalate, level: 2 })).toBe(task)
    expect(transition(task, { ...moves.escalate, level: 4 }).escalationLevel).toBe(4)
    expect(transition(task, moves.escalate).escalationLevel).toBe(3)
  })

  test('an escalation to another role removes the assignee', () => {
    const task = aTask('in_progress', { assigneeId: 'ben' })
    expect(transition(task, { ...moves.escalate, assignedRole: 'SCHOOL_PRINCIPAL' })).toEqual({
      status: 'open',
      assignedRole: 'SCHOOL_PRINCIPAL',
      assigneeId: null,
      escalationLevel: 1,
      escalatedAt: at,
    })
  })
})

const aMove: fc.Arbitrary<TaskMove> = fc.oneof(
  fc.record({ type: fc.constant('start' as const), by: fc.constantFrom('anna', 'ben') }),
  fc.record({ type: fc.constant('assign' as const), assigneeId: fc.constantFrom('anna', 'ben', null) }),
  fc.constant({ type: 'complete' } as const),
  fc.constant({ type: 'cancel' } as const),
  fc.record({
    type: fc.constant('escalate' as const),
    at: fc.constant(at),
    level: fc.option(fc.nat(9), { nil: undefined }),
    assignedRole: fc.option(fc.constant('custodian'), { nil: undefined }),
  }),
)

test('any sequence of actions: no exit from a final state, levels never fall, and a task in progress has an assignee', () => {
  fc.assert(
    fc.property(fc.constantFrom(...TaskStatus.options), fc.array(aMove, { maxLength: 12 }), (status, course) => {
      let task = aTask(status, status === 'in_progress' ? { assigneeId: 'anna' } : {})
      for (const move of course) {
        const before = task
        try {
          task = transition(task, move)
        } catch (error) {
          expect(error).toMatchObject({ code: refused })
        }
        if (before.status === 'done' || before.status === 'cancelled') expect(task).toBe(before)
        expect(task.escalationLevel).toBeGreaterThanOrEqual(before.escalationLevel)
        if (task.status === 'in_progress') expect(task.assigneeId).not.toBeNull()
      }
    }),
  )
})
