import { expect, test } from 'vitest'
import { isStale } from '../../../src/core/bootstrap/index.ts'

const of = { userId: 'anna', roles: ['teacher'], spaceIds: new Set(['s1']), taskIds: new Set(['t1']) }

const rows: readonly (readonly [string, Record<string, unknown>, boolean])[] = [
  ['user.roles_changed', { userId: 'anna' }, true],
  ['user.roles_changed', { userId: 'ben' }, false],
  ['user.profile_changed', { userId: 'anna' }, true],
  ['user.profile_changed', { userId: 'ben' }, false],
  ['user.joined', { userId: 'anna', spaceId: 's1' }, true],
  ['user.joined', { userId: 'ben', spaceId: 's1' }, false],
  ['user.left', { userId: 'anna', spaceId: 's1' }, true],
  ['user.left', { userId: 'ben', spaceId: 's1' }, false],
  ['user.created', { userId: 'ben' }, false],
  ['user.disabled', { userId: 'ben' }, false],
  ['space.updated', { spaceId: 's1' }, true],
  ['space.deleted', { spaceId: 's1' }, true],
  ['space.updated', { spaceId: 's2' }, false],
  ['space.created', { spaceId: 's2' }, false],
  ['task.created', { taskId: 't2', assigneeId: 'anna' }, true],
  ['task.created', { taskId: 't2', role: 'teacher' }, true],
  ['task.created', { taskId: 't2', role: 'parent', assigneeId: 'ben' }, false],
  ['task.created', { taskId: 't2', role: null, assigneeId: null }, false],
  ['task.updated', { taskId: 't1', role: 'parent', assigneeId: 'ben' }, true],
  ['task.escalated', { taskId: 't1' }, true],
  ['file.created', { fileId: 'f1', spaceId: 's1' }, false],
  ['module.activated', { moduleId: 'm1' }, true],
  ['tenant.flags_changed', {}, true],
  ['tenant.changed', {}, true],
  ['board.saved', { boardId: 'b1' }, false],
  ['rollout.started', { rolloutId: 'r1' }, false],
  ['something.of_tomorrow', {}, true],
]

test.each(rows)('%s %j invalidates the document of a teacher with one task and one space: %s', (eventType, payload, stale) => {
  expect(isStale(of, { eventType, payload })).toBe(stale)
})
