import { expect, test } from 'vitest'
import { systemClock } from '../../../src/node/index.ts'
import { paymentDouble } from '../../support/payments/provider-double.ts'
import { aPlatformUser } from '../../support/platform-user.ts'
import { aRunningDaemon, clientOf, loggedIn } from '../../support/running-daemon.ts'

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', connection: 'close' }

test('a vendor or a tenant that comes back from the provider gets a page', async () => {
  const double = paymentDouble(systemClock)
  const daemon = await aRunningDaemon({ provider: double.provider })
  const operator = clientOf(daemon.url, await loggedIn(daemon, 'operator'))
  await aPlatformUser(daemon, { tenant: 'acme' })
  await operator.billing.createPaymentCustomer({ params: { slug: 'acme' }, body: { billingEmail: 'office@acme.example' } })
  const { id } = await operator.marketplace.createVendor({ body: { name: 'Flows', contactEmail: 'a@flows.example' } })
  await operator.marketplace.onboardVendor({ params: { id } })

  const inputOf = (called: string) => double.calls.findLast(({ operation }) => operation === called)?.input as Record<string, string>
  const { returnUrl = '', refreshUrl = '' } = inputOf('createAccountLink')
  expect(inputOf('createSetupLink').returnUrl).toBe(returnUrl)
  const open = async (url: string) => {
    const page = await fetch(url, { headers: browser })
    return [page.status, page.headers.get('content-type'), await page.text()]
  }
  const html = 'text/html; charset=utf-8'
  expect(await open(returnUrl)).toEqual([200, html, expect.stringContaining('You can close this page.')])
  expect(await open(refreshUrl)).toEqual([200, html, expect.stringContaining('<h1>The link has expired</h1>')])
  await daemon.close()
})
