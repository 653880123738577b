import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BoxRow } from '../../src/core/boxes/index.ts'
import {
  anAccountOf,
  assertAccessible,
  assertClean,
  type ConsolePage,
  type ConsoleStage,
  logIn,
  openBrowser,
  openConsoleStage,
  openPage,
  screenshots,
} from './support.ts'

let stage: ConsoleStage
let browser: Browser
let page: ConsolePage

beforeAll(async () => {
  ;[stage, browser] = await Promise.all([openConsoleStage({ boxes: 4 }), openBrowser()])
  page = await openPage(browser)
  await logIn(page, stage, await anAccountOf(stage, 'operator'))
})
afterAll(async () => {
  await browser?.close()
  await stage?.close()
})

test('the drift list is filtered by the address, and a box is scanned from it', async () => {
  await page.goto(`${stage.url}/console/boxes?q=kita&sort=-box`)
  const table = page.getByRole('table', { name: 'Boxes' })
  await table.waitFor()
  await page.getByText('of 4 boxes').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'boxes')
  await page.keyboard.press('/')
  await page.keyboard.press('Control+a')
  await page.keyboard.type('nothing')
  await page.getByText('No box matches the filter').waitFor()
  expect(page.url()).toContain('q=nothing')
  await page.getByRole('button', { name: 'Clear the filter' }).click()
  await table.getByRole('checkbox', { name: 'Select realschule-am-see' }).check()
  await page.getByRole('button', { name: 'Scan 1 selected' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('tenantry boxes scan realschule-am-see').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'scan')
  await dialog.getByRole('button', { name: 'Scan' }).click()
  await page.getByText('Scan finished: 1 box answered').waitFor()
  assertClean(page)
})

test('a box shows its versions, probe, snapshots and history, and enters maintenance only with a reason', async () => {
  await page.goto(`${stage.url}/console/boxes/realschule-am-see`)
  await page.getByRole('heading', { name: 'Versions against the manifest' }).waitFor()
  await page.getByRole('region', { name: 'Versions against the manifest' }).getByText('1.163.2').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'box')
  await page.getByRole('button', { name: 'Enter maintenance…' }).click()
  const enter = page.getByRole('button', { name: 'Enter maintenance', exact: true })
  expect(await enter.isDisabled()).toBe(true)
  await page.getByLabel(/^Reason/).fill('moving its disk')
  await screenshots(page, 'maintenance')
  await enter.click()
  await page.getByText('moving its disk').first().waitFor()
  await page.getByRole('button', { name: 'End maintenance…' }).waitFor()
  assertClean(page)
})

test('a box shows its services, follows its logs, and restarts one service only with a reason', async () => {
  await page.goto(`${stage.url}/console/boxes/realschule-am-see`)
  const services = page.getByRole('region', { name: 'Services' })
  await services
    .getByRole('row', { name: /^synapse/ })
    .getByText(/ %$/)
    .waitFor()
  const logs = page.getByRole('region', { name: 'Logs' })
  await logs.getByRole('button', { name: 'Follow' }).click()
  await logs.getByText(/synapse .*starting/).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'services')
  await services.getByRole('button', { name: 'Restart synapse' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText(/tenantry boxes restart realschule-am-see --service synapse/).waitFor()
  expect(await dialog.getByRole('button', { name: 'Restart' }).isDisabled()).toBe(true)
  await page.keyboard.press('Escape')
  await logs.getByRole('button', { name: 'Stop following' }).click()
  assertClean(page)
})

test('a box that is moved and one that is removed say what happens, and which command comes next', async () => {
  const { boxes } = stage.api
  const others = (await boxes.listBoxes()).boxes.filter(({ slug }) => slug !== 'realschule-am-see')
  const [moved, left] = others as [BoxRow, BoxRow]
  const [from, to] = [moved.host, stage.fleet.hosts.find((host) => host !== moved.host) as string]
  await boxes.moveBox({ params: { slug: moved.slug }, body: { to, reason: 'its disk is full' } })
  await page.goto(`${stage.url}/console/boxes/${moved.slug}`)
  const move = page.getByRole('region', { name: 'Move' })
  await move.getByText(`${from} → ${to}`).waitFor()
  await move.getByText(`tenantry boxes move ${moved.slug} --confirm`).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'moved')
  await boxes.removeBox({ params: { slug: left.slug }, body: { confirm: left.slug, reason: 'the school left' } })
  await page.goto(`${stage.url}/console/boxes/${left.slug}`)
  const removal = page.getByRole('region', { name: 'Removal' })
  await removal.getByText(`tenantry boxes remove ${left.slug} --undo`).waitFor()
  await removal.getByText('the school left').waitFor()
  await screenshots(page, 'removed')
  assertClean(page)
})

test('the palette finds a box, and the help names the keys', async () => {
  await page.keyboard.press('Control+k')
  await page.getByRole('searchbox').fill('realschule')
  await page.getByRole('menuitem', { name: /^realschule-am-see/ }).waitFor()
  await assertAccessible(page)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('searchbox', { name: 'Page, box or tenant' }).fill('scan realschule')
  await page.getByRole('menuitem', { name: /^Scan realschule-am-see/ }).waitFor()
  await screenshots(page, 'palette-actions')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog', { name: 'Scan 1 box?' }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  await page.keyboard.press('Escape')
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'help')
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await page.getByRole('heading', { name: 'Alerts' }).waitFor()
  assertClean(page)
})

test('a viewer sees which role a button needs, and presses nothing', async () => {
  const own = await openPage(browser)
  await logIn(own, stage, await anAccountOf(stage, 'viewer'), '/boxes')
  await own.getByRole('table', { name: 'Boxes' }).waitFor()
  const scan = own.getByRole('button', { name: /^Scan all/ })
  await scan.hover()
  await own.getByText('This requires the role operator; you are viewer.').waitFor()
  await scan.press('Enter')
  expect(await own.getByRole('alertdialog').count()).toBe(0)
  await own.keyboard.press('Control+k')
  await own.getByRole('searchbox', { name: 'Page, box or tenant' }).fill('scan all')
  await own.getByRole('menuitem', { name: 'Scan all boxes requires the role operator' }).click()
  await own.goto(`${stage.url}/console/boxes?do=scan`)
  await own.getByRole('table', { name: 'Boxes' }).waitFor()
  await own.waitForURL((url) => url.search === '')
  expect(await own.getByRole('alertdialog').count()).toBe(0)
  assertClean(own)
})
