import { beforeAll, expect } from 'vitest'
import { closePages, test } from './browser.ts'
import { anAccountOf, assertAccessible, assertClean, type ConsoleStage, logIn, openConsoleStage, openPage, screenshots } from './support.ts'

let stage: ConsoleStage

beforeAll(async () => {
  stage = await openConsoleStage({ boxes: 4 })
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

test('the login leads to the page that was asked for, and the overview shows the fleet', async ({ browser }) => {
  const account = await anAccountOf(stage, 'viewer')
  const page = await openPage(browser)
  await page.goto(`${stage.url}/console/`)
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'login')
  await page.getByLabel('Name').fill(account.name)
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('LOGIN_FAILED').waitFor()
  await logIn(page, stage, account)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByText('4 boxes').first().waitFor()
  await page.getByText(/as of \d/).waitFor()
  await page.getByText('4 boxes never drilled').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'overview', { narrow: true })
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({ name: 'tenantry-console', httpOnly: true, sameSite: 'Strict', path: '/' })
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Search and commands' }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'palette')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  assertClean(page)
})
