import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, onTestFinished } from 'vitest'
import { freePort } from '../../src/demo/stage.ts'
import { closePages, test } from './browser.ts'
import { anAccountOf, assertAccessible, assertClean, type ConsoleStage, logIn, openConsoleStage, openPage, screenshots } from './support.ts'

const hostile = `<img src=x onerror="document.title='taken'"><b>"'`

let stage: ConsoleStage
let account: Awaited<ReturnType<typeof anAccountOf>>

beforeAll(async () => {
  const port = await freePort(0)
  // Passkeys need a name.
  stage = await openConsoleStage({ boxes: 1, tenantName: hostile, port, env: { TENANTRY_PUBLIC_URL: `http://localhost:${port}` } })
  account = await anAccountOf(stage, 'operator')
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

test('a session that ended elsewhere leads to the login, and the right password from there back to the same list', async ({ browser }) => {
  const page = await openPage(browser)
  await logIn(page, stage, account, '/boxes?q=kita')
  await page.getByRole('table', { name: 'Boxes' }).waitFor()
  const { sessions } = await stage.api.admin.listSessions({ query: { all: 'true' } })
  for (const { id } of sessions.filter(({ kind }) => kind === 'console')) await stage.api.admin.revokeSession({ params: { id } })
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await page.getByLabel('Name').fill(account.name)
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByText('LOGIN_FAILED').waitFor()
  await page.getByLabel('Password').fill(account.password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('table', { name: 'Boxes' }).waitFor()
  expect(page.url()).toBe(`${stage.url}/console/boxes?q=kita`)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  assertClean(page)
})

test('a person adds a passkey, logs in with it alone, and removes it', async ({ browser }) => {
  const page = await openPage(browser)
  const devices = await page.context().newCDPSession(page)
  await devices.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
  })
  await logIn(page, stage, account, '/passkeys')
  await page.getByText('It logs in without password').waitFor()
  await assertAccessible(page)
  const add = async (name: string) => {
    await page.getByRole('button', { name: 'Add a passkey…' }).click()
    await page.getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Add passkey' }).click()
  }
  await add('Phone')
  await page.getByRole('table', { name: 'Passkeys' }).getByText('Phone').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'passkeys', { narrow: true })
  await add('Phone again')
  await page.getByText('This device has a passkey of this account already.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Log out' }).click()

  const byPasskey = page.getByRole('button', { name: 'Log in with a passkey' })
  await byPasskey.waitFor()
  await assertAccessible(page)
  await screenshots(page, 'login-passkey', { narrow: true })
  await devices.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await byPasskey.click()
  await page.getByText('it was cancelled, or took too long').waitFor()
  await devices.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  await byPasskey.click()
  await page.getByRole('button', { name: 'Log out' }).waitFor()

  await page.goto(`${stage.url}/console/passkeys`)
  await page.getByRole('button', { name: 'Remove… Phone' }).click()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Remove passkey' }).click()
  await page.getByText('No passkey yet.').first().waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await byPasskey.click()
  await page.getByText('The passkey was not accepted').waitFor()
  assertClean(page)
})

test('a page loads again when one of its files did not arrive, and says so when it never does', async ({ browser }) => {
  const page = await openPage(browser)
  let failures = 2
  await page.route('**/console/assets/jsx-runtime-*.js', (route) => (failures-- > 0 ? route.abort('connectionreset') : route.continue()))
  await page.goto(`${stage.url}/console/login`)
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  failures = Number.POSITIVE_INFINITY
  await page.reload()
  await page.getByText('A file of the console could not be loaded. Reload the page.').waitFor()
  assertClean(page)
})

test('text that is not ours is shown as text', async ({ browser }) => {
  const page = await openPage(browser)
  await logIn(page, stage, account, '/boxes')
  await page.getByText(hostile).first().waitFor()
  await page.getByRole('link', { name: 'kita-regenbogen' }).click()
  // The list shows the text too.
  await page.waitForURL(/\/boxes\/kita-regenbogen/)
  await expect.poll(() => page.title(), { timeout: 10_000 }).toContain('kita-regenbogen')
  await page.getByText(hostile).first().waitFor()
  assertClean(page)
})

test('another site can neither frame the console nor use its session', async ({ browser }) => {
  const page = await openPage(browser)
  await logIn(page, stage, account)
  const site = createServer(
    (_, response) => void response.setHeader('content-type', 'text/html').end(`<iframe src="${stage.url}/console/"></iframe>`),
  )
  onTestFinished(() => void site.close())
  await once(site.listen(0, 'localhost'), 'listening')
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`)
  const frame = page.frames()[1]
  expect(await frame?.content()).not.toContain('Tenantry')
  for (const mode of ['cors', 'no-cors'])
    expect(
      await page.evaluate(
        `fetch('${stage.url}/api/admin/v1/whoami', { credentials: 'include', mode: '${mode}' }).then((r) => r.type, () => 'refused')`,
      ),
    ).toBe('refused')
})

test('ten thousand boxes are listed with few rows in the page, filtered and sorted', async ({ browser }) => {
  const page = await openPage(browser)
  const template = (await stage.api.boxes.listBoxes()).boxes[0]
  const rows = Array.from({ length: 10_000 }, (_, n) => ({
    ...template,
    boxId: `box_${n}`,
    slug: `school-${String(n).padStart(5, '0')}`,
    tenant: `School ${n}`,
  }))
  await page.route('**/api/admin/v1/boxes?**', async (route) => {
    const query = new URL(route.request().url()).searchParams
    const [from, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit'))]
    const next = from + limit
    await route.fulfill({ json: { boxes: rows.slice(from, next), nextCursor: next < rows.length ? String(next) : null } })
  })
  await logIn(page, stage, account, '/boxes')
  const table = page.getByRole('table', { name: 'Boxes' })
  await page.getByText('10000 boxes').first().waitFor()
  expect(await table.getAttribute('aria-rowcount')).toBe('10001')
  expect(await table.getByRole('row').count()).toBeLessThan(80)
  await table.focus()
  await page.keyboard.press('End')
  await page.getByText('school-09999').waitFor()
  await page.getByRole('searchbox').fill('0777')
  await page.getByText('school-07770').waitFor()
  await page.getByRole('button', { name: 'Box', exact: true }).click()
  expect(page.url()).toContain('q=0777')
  expect(page.url()).toContain('sort=box')
  assertClean(page)
})
