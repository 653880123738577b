import { devices } from 'playwright-core'
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

let stage: ConsoleStage
let page: ConsolePage
let account: Awaited<ReturnType<typeof anAccountOf>>

test.beforeAll(async ({ browser }) => {
  stage = await openConsoleStage({ boxes: 4 })
  account = await anAccountOf(stage, 'admin')
  page = await openPage(browser)
  await logIn(page, stage, account)
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

const title = () => page.getByRole('heading', { level: 1 })
const focusedText = () => page.evaluate<string>('document.activeElement.textContent')
const focusedId = () => page.evaluate<string>('document.activeElement.id')

async function press(...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

test('a fresh list is walked and opened by keys alone: no click, no Tab', async () => {
  await page.goto(`${stage.url}/console/boxes`)
  await page.getByRole('table', { name: 'Boxes' }).waitFor()
  const slugs = stage.fleet.boxes.map(({ slug }) => slug).sort()
  await press('j')
  expect(await focusedText()).toBe(slugs[0])
  await press('j', 'j', 'k')
  expect(await focusedText()).toBe(slugs[1])
  await press('End')
  expect(await focusedText()).toBe(slugs.at(-1))
  await press('Home')
  expect(await focusedText()).toBe(slugs[0])
  await press('Enter')
  await page.getByRole('heading', { level: 1, name: slugs[0] as string }).waitFor()
  expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0)
})

test('g and its letter open every page of the menu; each takes the focus with its name, and ? lists them all', async () => {
  const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('listitem').allInnerTexts()
  const labels = links.map((text) => text.split('\n')[0]?.trim())
  await press('?')
  const dialog = page.getByRole('dialog', { name: 'Keys' })
  await dialog.waitFor()
  const listed = await dialog.locator('.keys').last().locator('> div').allInnerTexts()
  const letters = new Map(listed.map((text) => text.split('\n') as [string, string]).map(([keys, label]) => [label, keys]))
  expect([...letters.keys()].sort()).toEqual(labels.toSorted())
  await assertAccessible(page)
  await screenshots(page, 'keys', { narrow: true })
  await press('Escape')
  await dialog.waitFor({ state: 'detached' })
  for (const [label, keys] of letters) {
    await press(...keys.split(' '))
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: label as string })
    await expect.poll(() => link.getAttribute('aria-current')).toBe('page')
    await title().waitFor()
    await expect.poll(focusedId, { message: label as string }).toBe('main')
  }
})

test('after a link of the menu the keys reach the list, not the menu', async () => {
  await page.getByRole('link', { name: 'Overview' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await press('g', 'b')
  await page.getByRole('table', { name: 'Boxes' }).waitFor()
  await press('j', 'j', 'Enter')
  await page.waitForURL(/\/boxes\/[a-z-]+$/)
})

test('a touch device sees no keys', async ({ browser }) => {
  const phone = await openPage(browser, devices['Pixel 7'])
  await phone.goto(`${stage.url}/console/boxes`)
  await phone.getByLabel('Name').fill(account.name)
  await phone.getByLabel('Password').fill(account.password)
  await phone.getByRole('button', { name: 'Log in' }).tap()
  await phone.getByRole('table', { name: 'Boxes' }).waitFor()
  expect(await phone.locator('.kbd').count()).toBe(0)
  expect(await phone.getByRole('searchbox').getAttribute('placeholder')).toBe('Filter by box, tenant or host')
  await phone.getByRole('button', { name: 'Search' }).tap()
  await phone.getByRole('searchbox', { name: 'Page, box or tenant' }).waitFor()
  assertClean(phone)
})

const maxTabs = 120

/** Tab until the control of that name has the focus. */
async function tabTo(name: string | RegExp): Promise<void> {
  const isThere = async () => {
    const text = await page.evaluate<string>(`(() => {
      const one = document.activeElement
      const label = one.labels?.[0]?.textContent ?? document.getElementById(one.getAttribute('aria-labelledby'))?.textContent
      return (one.getAttribute('aria-label') ?? label ?? one.textContent).trim()
    })()`)
    return typeof name === 'string' ? text === name : name.test(text)
  }
  for (let pressed = 0; pressed < maxTabs; pressed++) {
    if (await isThere()) return
    await press('Tab')
  }
  throw new Error(`no control ${name} is reached by Tab`)
}

test('a rollout by keys alone: plan, options, create and start; a box fails; read why; leave it out; done', async () => {
  const answer = page.locator('.page-answer')
  await press('g', 'p')
  await page.getByRole('heading', { level: 1, name: 'Rollout plan' }).waitFor()
  await answer.getByText(/^4 boxes to update/).waitFor()
  await tabTo(/^Options/)
  await press('Enter')
  await tabTo('Boxes at once')
  await page.keyboard.type('2')
  await assertAccessible(page)
  await screenshots(page, 'plan-options', { narrow: true })
  await tabTo('Plan with these')
  await press('Enter')
  await answer.getByText(/2 at a time/).waitFor()
  expect(await focusedText()).toMatch(/^Options\s*--parallel 2/)

  await tabTo('Create…')
  await press('Enter')
  await page.getByRole('alertdialog').waitFor()
  await tabTo(/^Reason/)
  await page.keyboard.type('by keys')
  await tabTo('Start now')
  await press('Enter')
  await page.getByRole('heading', { level: 1, name: /^Rollout ro_/ }).waitFor()
  const id = /ro_[0-9a-z]+/.exec(page.url())?.[0] as string
  await expect.poll(focusedId).toBe('main')
  await answer.getByText('paused in pro').waitFor()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Rollouts 1 paused rollout' }).waitFor()

  await press('g', 'r')
  await page.getByRole('table', { name: 'Rollouts' }).waitFor()
  await press('j', 'Enter')
  await page.getByRole('heading', { level: 1, name: `Rollout ${id}` }).waitFor()
  await page.getByRole('region', { name: 'Failures' }).getByText('PROBE_FAILED', { exact: true }).waitFor()
  await tabTo('Evidence')
  await press('Enter')
  await page.getByRole('heading', { name: 'Probes' }).waitFor()
  await tabTo(`Rollout ${id}`)
  await press('Enter')
  await answer.getByText('paused in pro').waitFor()

  await tabTo('Resume…')
  await press('Enter')
  await page.getByRole('alertdialog').waitFor()
  await tabTo(/^Retry /)
  await press('ArrowDown')
  await page.getByRole('alertdialog').getByText(`tenantry rollouts resume ${id} --skip-failed`).waitFor()
  await tabTo('Resume')
  await press('Enter')
  await answer.getByText('done', { exact: false }).waitFor()
  expect((await stage.api.rollouts.getRollout({ params: { id } })).status).toBe('done')
})

test('no page broke the policy or failed', () => assertClean(page))
