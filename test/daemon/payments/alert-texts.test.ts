import { expect, test } from 'vitest'
import { paymentFailed } from '../../../src/daemon/payments/index.ts'

test('a failed payment of an uninstalled item does not say that it stays installed', () => {
  const { body, command } = paymentFailed({
    ...{ slug: 'anna-schule', itemName: 'Visitors', subscriptionId: 'sub_1', isUnpaid: true, isInstalled: false },
  })
  expect(body).toContain('It does not try again. The item is uninstalled; the payment is for the time before.')
  expect(body).not.toContain('stays installed')
  expect(command).toBe('tenantry tenants billing anna-schule --create-customer')
})
