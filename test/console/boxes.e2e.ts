import { join } from 'node:path'
import { expect } from 'vitest'
import type { BoxRow } from '../../src/core/boxes/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { closePages, test } from './browser.ts'
import {
  anAccountOf,
  assertAccessible,
  assertClean,
  type ConsolePage,
  type ConsoleStage,
  hover,
  logIn,
  openConsoleStage,
  openPage,
  screenshots,
} from './support.ts'

let stage: ConsoleStage
let page: ConsolePage

test.beforeAll(async ({ browser }) => {
  stage = await openConsoleStage({ boxes: 4 })
  page = await openPage(browser)
  await logIn(page, stage, await anAccountOf(stage, 'operator'))
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

const others = async () => (await stage.api.boxes.listBoxes()).boxes.filter(({ slug }) => slug !== 'realschule-am-see')

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

test('a box is moved after its plan was shown, and its old copy is deleted', async () => {
  const { slug, host: from } = (await others())[0] as BoxRow
  const to = stage.fleet.hosts.find((host) => host !== from) as string
  await page.goto(`${stage.url}/console/boxes/${slug}`)
  await page.getByRole('button', { name: 'Move…', exact: true }).click()
  const dialog = page.getByRole('alertdialog')
  const confirm = dialog.getByRole('button', { name: 'Move the box' })
  await dialog.getByText(new RegExp(`^${to}: `)).click()
  await dialog.getByText(`${slug} is offline from its stop on ${from} until it is verified on ${to}. No data loss.`).waitFor()
  expect(await confirm.isDisabled()).toBe(true)
  await dialog.getByLabel(/^Reason/).fill('its disk is full')
  await dialog.getByText(`tenantry boxes move ${slug} --to ${to} --reason 'its disk is full'`).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'move', { narrow: true })
  await confirm.click()
  const move = page.getByRole('region', { name: 'Move' })
  await move.getByText(`${from} → ${to}`).waitFor()
  await move.getByText(`tenantry boxes move ${slug} --confirm`).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'moved', { narrow: true })
  await move.getByRole('button', { name: `Delete the copy on ${from}…` }).click()
  await page.getByRole('alertdialog', { name: `Permanently delete the copy of ${slug} on its old host?` }).waitFor()
  await page.getByRole('button', { name: 'Delete the copy', exact: true }).click()
  await move.getByText(`${slug} runs on ${to}.`, { exact: true }).waitFor()
  assertClean(page)
})

test('a box is removed only with its name typed by an admin, and restored', async ({ browser }) => {
  const { slug } = (await others())[1] as BoxRow
  const path = `/boxes/${slug}`
  await page.goto(`${stage.url}/console${path}`)
  expect(await page.getByRole('button', { name: 'Remove…' }).getAttribute('aria-disabled')).toBe('true')
  const own = await openPage(browser)
  await logIn(own, stage, await anAccountOf(stage, 'admin'), path)
  await own.getByRole('button', { name: 'Remove…' }).click()
  const dialog = own.getByRole('alertdialog')
  await dialog.getByLabel(/^Reason/).fill('the school left')
  const remove = dialog.getByRole('button', { name: 'Remove the box' })
  expect(await remove.isDisabled()).toBe(true)
  await dialog.getByLabel(/^Type/).fill(slug)
  await dialog.getByText(`tenantry boxes remove ${slug} --reason 'the school left'`).waitFor()
  await assertAccessible(own)
  await screenshots(own, 'remove', { narrow: true })
  await remove.click()
  const removal = own.getByRole('region', { name: 'Removal' })
  await removal.getByText(`tenantry boxes remove ${slug} --undo`).waitFor()
  await removal.getByText('the school left').waitFor()
  await screenshots(own, 'removed', { narrow: true })
  await removal.getByRole('button', { name: 'Restore the box…' }).click()
  await own.getByRole('button', { name: 'Restore the box', exact: true }).click()
  await removal.waitFor({ state: 'detached' })
  assertClean(own)
})

test('an adoption names what it needs, and shows why it failed on the page of the box', async () => {
  await page.goto(`${stage.url}/console/boxes`)
  await page.getByRole('button', { name: 'Adopt…' }).click()
  const dialog = page.getByRole('alertdialog')
  const adopt = dialog.getByRole('button', { name: 'Adopt the stack' })
  expect(await adopt.isDisabled()).toBe(true)
  await dialog.getByLabel('Name of the box').fill('old-school')
  await dialog.getByLabel('Folder of its compose file').fill('/srv/old-school')
  await dialog.getByLabel('Compose project').fill('old-school')
  await dialog.getByLabel('Name of the tenant').fill('Old School')
  await dialog.getByLabel('Chat domain', { exact: true }).fill('chat.old-school.example')
  await dialog.getByText(new RegExp(`^${stage.fleet.hosts[0]}: `)).click()
  await assertAccessible(page)
  await screenshots(page, 'adopt', { narrow: true })
  await adopt.click()
  await page.getByRole('heading', { level: 1, name: 'old-school' }).waitFor()
  await page.getByText('Set-up failed').waitFor()
  await screenshots(page, 'adopted')
  assertClean(page)
})

test('a box of which its host says nothing any more is registered again from its page', async () => {
  const { slug, boxId } = (await others())[2] as BoxRow
  const { db, close } = openDatabase(`sqlite:${join(stage.folder, 'daemon', 'tenantry.db')}`)
  const reported_at = new Date(Date.now() - 48 * 3_600_000).toISOString()
  await db.updateTable('boxes').set({ reported_at }).where('id', '=', boxId).execute()
  await close()
  await page.goto(`${stage.url}/console/boxes/${slug}`)
  await page.getByRole('button', { name: 'Register again…' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText(`tenantry boxes adopt ${slug} --again`).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'register-again', { narrow: true })
  await dialog.getByRole('button', { name: 'Register the box' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Register again…' }).waitFor({ state: 'detached' })
  expect(await stage.api.boxes.showBox({ params: { slug } })).toMatchObject({ freshness: 'fresh' })
  assertClean(page)
})

test('the sizes of a box are a line over 30 days', async () => {
  const { slug, boxId } = (await others())[0] as BoxRow
  const { db, close } = openDatabase(`sqlite:${join(stage.folder, 'daemon', 'tenantry.db')}`)
  const days = Array.from({ length: 30 }, (_, day) => ({
    ...{ box_id: boxId, day: new Date(Date.now() - (30 - day) * 86_400_000).toISOString().slice(0, 10) },
    ...{
      database_bytes: 1_000_000_000 + day * 20_000_000,
      media_bytes: day < 9 ? null : 300_000_000 + day * 9_000_000,
      object_bytes: null,
    },
  }))
  await db
    .insertInto('box_sizes')
    .values(days.filter((_, day) => day !== 20))
    .execute()
  await close()
  await page.goto(`${stage.url}/console/boxes/${slug}`)
  await page.getByRole('img', { name: /^Sizes from .*, now: Database 1.6 GB, Media 561 MB$/ }).waitFor()
  await page.getByText('2.1 GB, grew by 760 MB in 29 days').waitFor()
  await assertAccessible(page)
  await page.getByRole('region', { name: 'Sizes over 30 days' }).scrollIntoViewIfNeeded()
  await screenshots(page, 'box-sizes', { narrow: true })
  assertClean(page)
})

test('a stack is planned for its import, and an imported box offers the return to it', async () => {
  const { slug, boxId } = (await others())[1] as BoxRow
  const { db, close } = openDatabase(`sqlite:${join(stage.folder, 'daemon', 'tenantry.db')}`)
  await db
    .updateTable('boxes')
    .set({ folder: `/srv/${slug}`, project: slug })
    .where('id', '=', boxId)
    .execute()
  await page.goto(`${stage.url}/console/boxes/${slug}`)
  const section = page.getByRole('region', { name: 'Import' })
  await section.getByText(`tenantry boxes import ${slug} --plan`).waitFor()
  expect(await section.getByRole('button', { name: 'Import…', exact: true }).isDisabled()).toBe(true)
  await section.getByRole('button', { name: 'Plan import…' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText(`tenantry boxes import ${slug} --plan`).waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Make the plan' }).click()
  await section.getByText('The stack cannot be imported yet.').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'import-plan', { narrow: true })

  const at = new Date().toISOString()
  const { host_id } = await db.selectFrom('boxes').select('host_id').where('id', '=', boxId).executeTakeFirstOrThrow()
  await db.updateTable('boxes').set({ folder: null, project: null }).where('id', '=', boxId).execute()
  await db
    .insertInto('box_imports')
    .values({
      ...{ id: 'imp_1', box_id: boxId, host_id, state: 'imported', reason: 'one of ours', asked_by: 'anna', folder: `/srv/${slug}` },
      ...{ project: slug, dropped: '[]', facts: null, written: null, imported_at: at, command_id: null, error: null },
      ...{ started_at: at, changed_at: at, finished_at: null },
    })
    .execute()
  await close()
  await page.reload()
  await section.getByRole('button', { name: 'Return to the stack…' }).click()
  await dialog.getByText(`tenantry boxes import ${slug} --undo --reason`).waitFor()
  // The simulated host has no stack to return to.
  await dialog.getByText(/has no foreign stack to return to/).waitFor()
  await assertAccessible(page)
  expect(await dialog.getByRole('button', { name: 'Return to the stack' }).isDisabled()).toBe(true)
  await page.keyboard.press('Escape')
  await section.getByRole('button', { name: 'End the return path…' }).click()
  await dialog.getByText(`tenantry boxes import ${slug} --finish --reason`).waitFor()
  await page.keyboard.press('Escape')
})

test('the palette finds a box, and the help names the keys', async () => {
  await page.keyboard.press('Control+k')
  await page.getByRole('searchbox', { name: 'Page, box or tenant' }).fill('realschule')
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

test('a viewer sees which role a button needs, and presses nothing', async ({ browser }) => {
  const own = await openPage(browser)
  await logIn(own, stage, await anAccountOf(stage, 'viewer'), '/boxes')
  await own.getByRole('table', { name: 'Boxes' }).waitFor()
  const scan = own.getByRole('button', { name: /^Scan all/ })
  await hover(scan)
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

test('the history of a box leads from a failed update to its rollout and its alert', async () => {
  const slug = stage.fleet.unlucky
  const { maintenance } = await stage.api.boxes.showBox({ params: { slug } })
  if (maintenance) await stage.api.boxes.maintainBox({ params: { slug }, body: { on: false, reason: 'its disk is moved' } })
  await expect.poll(async () => (await stage.api.boxes.showBox({ params: { slug } })).heldBy, { timeout: 20_000 }).toBeNull()
  const { id } = await stage.api.rollouts.createRollout({ body: { targetSlugs: [slug] } })
  await stage.api.rollouts.startRollout({ params: { id }, body: {} })
  await page.goto(`${stage.url}/console/boxes/${slug}`)
  const history = page.getByRole('region', { name: 'History' })
  await history.getByRole('link', { name: /^Update: synapse .*: rolled back$/ }).waitFor()
  await history
    .getByRole('link', { name: /^Alert: / })
    .first()
    .waitFor()
  await history.getByText('Provisioning requested').waitFor()
  await assertAccessible(page)
  await history.scrollIntoViewIfNeeded()
  await screenshots(page, 'box-history', { narrow: true })
  await history
    .getByRole('link', { name: /^Update: synapse/ })
    .first()
    .click()
  await page.getByRole('heading', { level: 1, name: id }).waitFor()
  assertClean(page)
})
