import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { closePages, test } from './browser.ts'
import {
  anAccountOf,
  assertAccessible,
  assertClean,
  type ConsolePage,
  type ConsoleStage,
  logIn,
  openConsoleStage,
  openPage,
  screenshots,
} from './support.ts'

// What only an admin sees, and where alerts go.

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const receiver = createServer((request, response) =>
  request.resume().on('end', () => response.writeHead(request.url?.startsWith('/services') ? 403 : 204).end()),
)

let stage: ConsoleStage
let page: ConsolePage

test.beforeAll(async ({ browser }) => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const env = {
    TENANTRY_ALERTS_MAIL_TO: 'on-call@school.example',
    TENANTRY_ALERTS_WEBHOOK_URL: `http://127.0.0.1:${port}/hooks/a-secret-path`,
    TENANTRY_ALERTS_WEBHOOK_SECRET: secret,
    TENANTRY_ALERTS_CHANNELS: JSON.stringify([{ name: 'ops-room', form: 'slack', url: `http://127.0.0.1:${port}/services/a-secret-path` }]),
    TENANTRY_ALERTS_RULES: JSON.stringify({ 'ops-room': { minSeverity: 'critical', quietHours: '22:00-07:00' } }),
  }
  stage = await openConsoleStage({ boxes: 1, env })
  page = await openPage(browser, { viewport: { width: 1440, height: 900 } })
  await logIn(page, stage, await anAccountOf(stage, 'admin'))
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
  receiver.close()
})

/** Opens a page at both widths. `pages.e2e.ts` checks accessibility; tests here check it where a list is empty or a dialog is open. */
async function see(path: string, heading: string, name: string): Promise<void> {
  await page.goto(`${stage.url}/console${path}`)
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
  expect(await page.getByRole('alert').allTextContents()).toEqual([])
  await screenshots(page, name, { narrow: true })
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  await page.setViewportSize({ width: 390, height: 844 })
  expect([name, await page.evaluate(overflow)]).toEqual([name, 0])
  await page.setViewportSize({ width: 1440, height: 900 })
}

test('accounts are listed with role, state and one-time codes', async () => {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Accounts' }).click()
  await page.getByText('the-admin', { exact: true }).first().waitFor()
  await see('/accounts', 'Accounts', 'accounts')
  await see('/accounts?role=viewer', 'Accounts', 'accounts-none')
  await page.getByText('Nothing matches the filter').waitFor()
  await assertAccessible(page)
  assertClean(page)
})

/** Opens a page as if its list were empty. */
async function seeEmpty(
  path: string,
  heading: string,
  { endpoint, answer }: Readonly<{ endpoint: string; answer: unknown }>,
): Promise<void> {
  await page.route(endpoint, (route) => route.fulfill({ json: answer }))
  await see(path, heading, `${path.slice(1).replace('/', '-')}-empty`)
  await assertAccessible(page)
  await page.unroute(endpoint)
}

test('API tokens are listed without the token, and an empty list says how to create one', async () => {
  await see('/tokens', 'API tokens', 'tokens')
  await page.getByText(/^tnt_.{4,8}…$/).waitFor()
  await seeEmpty('/tokens', 'API tokens', { endpoint: '**/api/admin/v1/tokens', answer: { tokens: [] } })
  await page.getByText('tenantry tokens create <name> --role viewer').waitFor()
  assertClean(page)
})

test('settings have their value and origin, and no secret', async () => {
  await see('/settings', 'Settings', 'settings')
  await page.goto(`${stage.url}/console/settings?origin=environment&q=alerts`)
  await page.getByText('alerts.webhook.secret').waitFor()
  const text = await page.locator('main').innerText()
  expect(text).toContain('[secret]')
  for (const hidden of [secret, 'a-secret-path']) expect(text).not.toContain(hidden)
  await screenshots(page, 'settings-alerts', { narrow: true })
  assertClean(page)
})

test('channels: whom alerts reach, by which rules, and a test message', async () => {
  await see('/alerts/channels', 'Channels', 'channels')
  await page.getByRole('button', { name: 'Test webhook' }).click()
  const dialog = page.getByRole('alertdialog')
  await assertAccessible(page)
  await screenshots(page, 'channel-test')
  await dialog.getByRole('button', { name: /^Send/ }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Test ops-room' }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'channel-tested', { narrow: true })
  await page.getByRole('button', { name: 'Send test message…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: /^Send/ }).click()
  await page.getByText(/answered 403/).waitFor()
  await screenshots(page, 'channels-tested', { narrow: true })
  await seeEmpty('/alerts/channels', 'Channels', { endpoint: '**/api/admin/v1/alerts/channels', answer: { channels: [] } })
  assertClean(page)
})

test('a page of admins is neither in the navigation of an operator nor opened by its address', async ({ browser }) => {
  const operator = await openPage(browser)
  await logIn(operator, stage, await anAccountOf(stage, 'operator'), '/settings')
  await operator
    .getByText(/role admin/)
    .first()
    .waitFor()
  expect(await operator.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Settings' }).count()).toBe(0)
  await screenshots(operator, 'settings-refused')
  assertClean(operator)
})
