import { expect, test } from 'vitest'
import { stuckFence } from '../../support/alerts.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

test('the reason of a refused message is shown whole, at any width', async () => {
  const lastError =
    'the mail server mx.school.example:465 did not take the mail (EENVELOPE: 550 no such person here): may it have mail for this reader, from mail.from, by this account?'
  const { kind, title, body, command } = stuckFence('anna-schule')
  const alert = {
    ...{
      id: 12,
      kind,
      key: 'fence_stuck:anna-schule',
      subject: 'anna-schule',
      severity: 'critical',
      status: 'open',
      title,
      body,
      command,
      count: 1,
    },
    ...{ firstAt: at('01:00:00'), lastAt: at('01:00:00'), acknowledgedAt: null, acknowledgedBy: null, closedAt: null, closedBecause: null },
    deliveries: { sent: 1, pending: 0, dead: 1 },
  }
  const message = { channel: 'mail', attempts: 12, createdAt: at('01:00:00') }
  const deliveries = [
    { ...message, id: 'msg_1', target: 'ops@school.example', status: 'dead', lastError, sentAt: null },
    { ...message, id: 'msg_2', target: 'anna@school.example', status: 'sent', lastError: null, sentAt: at('01:02:00') },
  ]
  const ran = await tenantry(['alerts', 'show', '12'], { answers: { 'GET /api/admin/v1/alerts/12': { alert, deliveries } }, columns: 80 })
  expect(ran.stdout.replace(/\s+/g, ' ')).toContain(lastError)
  // A delivered message has no reason below it.
  expect(ran.stdout).toMatch(/anna@school\.example.*sent.*\n\nnext: /)
})
