import { expect, test } from 'vitest'
import { newlyAsked } from '../../../src/core/tasks/index.ts'

const task = { status: 'open', assigneeId: null, assignedRole: null, escalationLevel: 0 } as const
const [ben, teachers] = [{ userId: 'ben' }, { role: 'teacher' }]

test.each([
  ['a new task of a user', undefined, { ...task, assigneeId: 'ben' }, ben],
  ['a new task of a role, by its key', undefined, { ...task, assignedRole: 'TEACHER' }, teachers],
  ['a new task of a user with a role', undefined, { ...task, assigneeId: 'ben', assignedRole: 'TEACHER' }, ben],
  ['a new task of nobody', undefined, task, undefined],
  ['a task that another user gets', { ...task, assigneeId: 'anna' }, { ...task, assigneeId: 'ben' }, ben],
  [
    'a task that a user takes from the role',
    { ...task, assignedRole: 'TEACHER' },
    { ...task, assignedRole: 'TEACHER', assigneeId: 'ben' },
    ben,
  ],
  ['a started task', { ...task, assigneeId: 'ben' }, { ...task, assigneeId: 'ben', status: 'in_progress' }, undefined],
  ['a done task', { ...task, assigneeId: 'anna' }, { ...task, assigneeId: 'ben', status: 'done' }, undefined],
  ['a task of a role that is renamed', { ...task, assignedRole: 'TEACHER' }, { ...task, assignedRole: 'teacher' }, undefined],
  ['a task of another role', { ...task, assignedRole: 'staff' }, { ...task, assignedRole: 'teacher' }, teachers],
  ['an escalated task of a role', { ...task, assignedRole: 'teacher' }, { ...task, assignedRole: 'teacher', escalationLevel: 1 }, teachers],
  ['an escalated task of a user', { ...task, assigneeId: 'ben' }, { ...task, assigneeId: 'ben', escalationLevel: 1 }, ben],
] as const)('%s', (_, before, after, asked) => {
  expect(newlyAsked(before, after)).toEqual(asked)
})
