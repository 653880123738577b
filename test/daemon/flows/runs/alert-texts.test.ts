import { expect, test } from 'vitest'
import { overdueAlert, stalledAlert } from '../../../../src/daemon/flows/runs/run-alerts.ts'

type Who = Readonly<{ role?: string | null; isStalled?: boolean }>

test('an overdue run says who in the school can continue it', () => {
  const overdue = (
    kind: 'task' | 'checkpoint' | 'form',
    escalationRole: string | null,
    { role = 'teacher', isStalled = false }: Who = {},
  ) =>
    overdueAlert({
      ...{ slug: 'north', runId: 'run_1', isWhole: false },
      elements: [{ elementId: 'x1', kind, role, escalationRole, isStalled }],
    }).body
  expect(overdue('task', 'head')).toContain('The role head has it now.')
  expect(overdue('form', 'head')).toContain('The role teacher can do it, and so can the escalation role head')
  expect(overdue('checkpoint', 'head')).toContain('The role teacher decides it')
  expect(overdue('form', null, { role: null })).toContain('The user who started the run can do it; its board names no escalation role.')
  expect(overdue('task', 'head')).not.toContain('active user')
  expect(overdue('task', 'head', { isStalled: true })).toContain('The role head has it now. No active user can do it at present.')
  expect(overdue('checkpoint', 'head', { isStalled: true })).toContain('Too few active users can decide it at present.')
})

test('a stalled element says which users it lacks', () => {
  const stalled = (kind: 'task' | 'form', role: string | null) =>
    stalledAlert({
      ...{ slug: 'north', runId: 'run_1' },
      elements: [{ elementId: 'x1', kind, role, eligible: 0, required: 1 }],
    }).body
  expect(stalled('task', 'head')).toContain('is done by the role head, which no active user has')
  expect(stalled('form', null)).toContain('is for the user who started it, and that user is not active')
  expect(stalled('task', null)).toContain('is for the user to whom it is assigned, and that user is not active')
})
