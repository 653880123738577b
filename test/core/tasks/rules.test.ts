import { describe, expect, test } from 'vitest'
import { reaches } from '../../../src/core/events/index.ts'
import {
  audienceOf,
  audienceOfChange,
  isAssignedTo,
  mayMove,
  roleKey,
  type TaskCaller,
  type TaskMove,
} from '../../../src/core/tasks/index.ts'

const aTask = (more: Partial<Parameters<typeof audienceOf>[0]> = {}) => ({
  ...{ spaceId: null, assignedRole: null, assigneeId: null, createdBy: null },
  ...more,
})

const callers = {
  anna: { userId: 'anna', roles: ['member'], capabilities: [] },
  teacher: { userId: 'tim', roles: ['teacher'], capabilities: [] },
  manager: { userId: 'mia', roles: ['head'], capabilities: ['manageRuns'] },
  inSpace: { userId: 'sam', roles: ['member'], capabilities: [] },
  stranger: { userId: 'zoe', roles: ['member'], capabilities: ['manageUsers'] },
} as const satisfies Record<string, TaskCaller>

type Who = keyof typeof callers

const readers: readonly (readonly [string, Partial<Parameters<typeof audienceOf>[0]>, readonly Who[]])[] = [
  ['without an assignee', {}, ['manager']],
  ['of anna', { assigneeId: 'anna' }, ['anna', 'manager']],
  ['created by anna', { createdBy: 'anna' }, ['anna', 'manager']],
  ['of a role, in any spelling', { assignedRole: 'TEACHER' }, ['teacher', 'manager']],
  ['in a space', { spaceId: 's1' }, ['inSpace']],
  ['of anna in a space', { spaceId: 's1', assigneeId: 'anna' }, ['anna', 'inSpace']],
  ['of a role in a space', { spaceId: 's1', assignedRole: 'teacher' }, ['teacher', 'inSpace']],
]

test.each(readers)('a task %s is readable by %j only', (_, task, expected) => {
  const audience = audienceOf(aTask(task))
  const isMember = (spaceId: string, userId: string) => spaceId === 's1' && userId === 'sam'
  const names = Object.keys(callers) as Who[]
  expect(names.filter((who) => reaches(audience, callers[who], isMember))).toEqual(names.filter((who) => expected.includes(who)))
})

test('a reassignment is also published to the former assignee', () => {
  const before = aTask({ assigneeId: 'anna', assignedRole: 'teacher' })
  const after = aTask({ assigneeId: 'ben', assignedRole: 'CUSTODIAN' })
  expect(audienceOfChange(before, after)).toEqual({ capability: 'manageRuns', users: ['ben', 'anna'], roles: ['custodian', 'teacher'] })
})

test.each([
  ['SCHOOL_PRINCIPAL', 'school-principal'],
  ['school-principal', 'school-principal'],
  ['Custodian', 'custodian'],
])('the role %s is %s in the book', (written, key) => expect(roleKey(written)).toBe(key))

test('a task taken by one member of a role belongs to that user only', () => {
  expect(isAssignedTo(aTask({ assignedRole: 'teacher' }), callers.teacher)).toBe(true)
  expect(isAssignedTo(aTask({ assignedRole: 'teacher', assigneeId: 'anna' }), callers.teacher)).toBe(false)
  expect(isAssignedTo(aTask({ assignedRole: 'teacher', assigneeId: 'anna' }), callers.anna)).toBe(true)
})

describe('permissions', () => {
  const assign = (assigneeId: string | null): TaskMove => ({ type: 'assign', assigneeId })
  const escalate: TaskMove = { type: 'escalate', at: '2026-01-05T02:00:00.000Z' }
  const start: TaskMove = { type: 'start', by: 'x' }
  const ofRole = aTask({ assignedRole: 'teacher', createdBy: 'sam' })
  const ofAnna = aTask({ assignedRole: 'teacher', assigneeId: 'anna', createdBy: 'sam' })
  const rows: readonly (readonly [string, ReturnType<typeof aTask>, Who, TaskMove, boolean])[] = [
    ['begins what is of the role', ofRole, 'teacher', start, true],
    ['takes what is of the role', ofRole, 'teacher', assign('tim'), true],
    ['gives what is of the role to somebody else', ofRole, 'teacher', assign('anna'), false],
    ['takes what somebody has', ofAnna, 'teacher', assign('tim'), false],
    ['completes what somebody has', ofAnna, 'teacher', { type: 'complete' }, false],
    ['hands back what is theirs', ofAnna, 'anna', assign(null), true],
    ['completes what is theirs', ofAnna, 'anna', { type: 'complete' }, true],
    ['escalates what is theirs', ofAnna, 'anna', escalate, true],
    ['cancels what is theirs', ofAnna, 'anna', { type: 'cancel' }, false],
    ['cancels what they made', ofAnna, 'inSpace', { type: 'cancel' }, true],
    ['escalates what they made', ofAnna, 'inSpace', escalate, true],
    ['completes what they made', ofAnna, 'inSpace', { type: 'complete' }, false],
    ['does what it likes', ofAnna, 'manager', assign('tim'), true],
    ['completes what is of nobody', aTask(), 'stranger', { type: 'complete' }, false],
    ['escalates what is of nobody', aTask(), 'stranger', escalate, false],
  ]
  test.each(rows)('%s', (_, task, who, move, may) => expect(mayMove(task, callers[who], move)).toBe(may))
})
