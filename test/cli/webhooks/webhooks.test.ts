import { expect, test } from 'vitest'
import type { PaymentEvent } from '../../../src/core/payments/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/webhooks'
const event: PaymentEvent = {
  ...{ id: 'evt_1', type: 'customer.subscription.deleted', endpoint: 'platform', objectKind: 'subscription', objectId: 'sub_1' },
  ...{ livemode: false, eventAt: at('00:00:00'), createdAt: at('00:00:00'), state: 'waiting', outcome: null, appliedAt: null },
}

test('list passes filters on and prints the effect of each event', async () => {
  const applied: PaymentEvent = { ...event, state: 'applied', outcome: 'msb_1 is cancelled\u001b[31m', appliedAt: at('00:00:01') }
  const answers = { [`GET ${base}`]: { events: [applied], nextCursor: 'evt_1' } }
  const ran = await tenantry(['webhooks', 'list', '--state', 'applied'], { answers })
  expect(ran.asked[0]?.search).toBe('?state=applied')
  expect(ran.stdout).toMatch(/EVENT +TYPE +STATUS +OBJECT +RECEIVED +OUTCOME/)
  expect(ran.stdout).toMatch(/evt_1 +customer\.subscription\.deleted +applied +sub_1 +2 h ago +msb_1 is cancelled/)
  expect(ran.stdout).toContain('--cursor evt_1')
  expect(ran.stdout).not.toContain('\u001b[31m')
})

test('show names the mode and says how to see why an event waits', async () => {
  const ran = await tenantry(['webhooks', 'show', 'evt_1'], { answers: { [`GET ${base}/evt_1`]: event } })
  expect(ran.stdout).toMatch(/mode +test/)
  expect(ran.stdout).toContain('tenantry jobs list --topic payments.event')
})

test('replay sends one event again', async () => {
  const ran = await tenantry(['webhooks', 'replay', 'evt_1'], { answers: { [`POST ${base}/evt_1/replay`]: event } })
  expect([ran.exit, ran.asked.map(({ method, path }) => `${method} ${path}`)]).toEqual([0, [`POST ${base}/evt_1/replay`]])
})
