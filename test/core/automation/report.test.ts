import { expect, test } from 'vitest'
import { eventAliasName, writeReport } from '../../../src/core/automation/index.ts'

const facts = {
  eventId: 'e1',
  tenantName: 'School',
  createdAt: '2026-01-05T02:00:00.000Z',
  timeZone: 'Europe/Berlin',
  tasks: [],
  counts: { all: 0, unfinished: 0 },
}

test('the default report has no open placeholder', () => {
  const { text, missing } = writeReport(facts, { variables: {} })
  expect(missing).toEqual([])
  expect(text).toContain('Event: e1')
  expect(text).toContain('Tasks: 0, unfinished: 0.')
})

test('counts are numbers, and times those of the tenant, as in reports of runs', () => {
  const shared = { assignedRole: null, escalationLevel: 0, updatedAt: '2026-07-05T02:00:00.000Z' }
  const tasks = [
    { ...shared, title: 'Lock', status: 'done', dueAt: null },
    { ...shared, title: 'Call', status: 'open', dueAt: '2026-01-05T23:30:00.000Z' },
  ] as unknown as Parameters<typeof writeReport>[0]['tasks']
  const { text } = writeReport(
    { ...facts, tasks, counts: { all: 2, unfinished: 1 } },
    { template: '{taskCount}/{openTaskCount} {createdAt}\n{tasks}', variables: {} },
  )
  expect(text.replaceAll('\\', '').split('\n')).toEqual([
    '2/1 2026-01-05 03:00 (Europe/Berlin)',
    '- **Lock**: done, at 2026-07-05 04:00 (Europe/Berlin)',
    '- **Call**: open, due 2026-01-06 00:30 (Europe/Berlin)',
  ])
})

test('all tasks are counted, and a note says that older ones are not listed', () => {
  const one = { assignedRole: null, escalationLevel: 0, updatedAt: '2026-07-05T02:00:00.000Z', title: 'Lock', status: 'done', dueAt: null }
  const tasks = [one] as unknown as Parameters<typeof writeReport>[0]['tasks']
  const template = '{taskCount}/{openTaskCount}\n{tasks}'
  const { text } = writeReport({ ...facts, tasks, counts: { all: 1234, unfinished: 56 } }, { template, variables: {} })
  expect(text.split('\n')[0]).toBe('1234/56')
  expect(text).toMatch(/\*\*Lock\*\*.*\n\nThe newest 1 of 1234 tasks are listed\.$/)
})

test('variables replace names of the event; what is missing is listed once', () => {
  const made = writeReport(facts, { template: '{eventId} {x} {x} {constructor}', variables: { eventId: 'Drill', n: 1 } })
  expect(made).toEqual({ text: 'Drill (none) (none) (none)', missing: ['x', 'constructor'] })
})

test('events of two tenants have two aliases', () => {
  const alias = (tenantId: string, eventId: string) => eventAliasName({ tenantId, eventId })
  expect(new Set([alias('a', 'b'), alias('a', 'c'), alias('b', 'b'), alias('ab', '')]).size).toBe(4)
  expect(alias('a', 'ü/#:')).toMatch(/^tenantry\.event\.[0-9a-f]{32}$/)
})
