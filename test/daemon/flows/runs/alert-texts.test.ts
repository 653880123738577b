import { expect, test } from 'vitest'
import { overdueAlert } from '../../../../src/daemon/flows/runs/run-alerts.ts'

type Who = Readonly<{ role?: string | null }>

test('an overdue run says who in the school can continue it', () => {
  const overdue = (kind: 'task' | 'checkpoint' | 'form', escalationRole: string | null, { role = 'teacher' }: Who = {}) =>
    overdueAlert({
      ...{ slug: 'north', runId: 'run_1', isWhole: false },
      elements: [{ elementId: 'x1', kind, role, escalationRole }],
    }).body
  expect(overdue('task', 'head')).toContain('The role head has it now.')
  expect(overdue('form', 'head')).toContain('The role teacher can do it, and so can the escalation role head')
  expect(overdue('checkpoint', 'head')).toContain('The role teacher decides it')
  expect(overdue('form', null, { role: null })).toContain('The user who started the run can do it; its board names no escalation role.')
})
