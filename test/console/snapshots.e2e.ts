import { beforeAll, expect } from 'vitest'
import { closePages, test } from './browser.ts'
import { anAccountOf, assertAccessible, assertClean, type ConsoleStage, logIn, openConsoleStage, openPage, screenshots } from './support.ts'

let stage: ConsoleStage

beforeAll(async () => {
  stage = await openConsoleStage({ boxes: 2 })
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

test('take a snapshot, prove it by a drill, and restore the box from it, each with its consequence first', async ({ browser }) => {
  const page = await openPage(browser)
  await logIn(page, stage, await anAccountOf(stage, 'operator'), '/snapshots')
  await page.getByText('No snapshots yet.').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'snapshots-empty')

  await page.getByRole('button', { name: 'Take…' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByLabel('Box').fill('kita-regenbogen')
  await dialog.getByText('The box stays online.', { exact: false }).waitFor()
  await dialog.getByText('tenantry snapshots take kita-regenbogen --wait').waitFor()
  await dialog.getByRole('button', { name: 'Take snapshot' }).click()
  await page.getByText('taken', { exact: true }).waitFor()
  const row = page.getByRole('row').filter({ hasText: 'manual' })
  await row.getByText('present').waitFor()
  await row.getByText('never').waitFor()

  await row.getByRole('button', { name: /^Drill/ }).click()
  await dialog.getByText('The box stays online and is not changed', { exact: false }).waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Drill' }).click()
  await page.getByText(/verified, .* rows match/).waitFor()
  await row
    .getByText(/ago|just now/)
    .nth(1)
    .waitFor()

  await row.getByRole('button', { name: /^Restore/ }).click()
  await dialog.getByText('DATA LOSS: everything of the last', { exact: false }).waitFor()
  await dialog.getByLabel(/^Reason/).fill('the import went wrong')
  const restore = dialog.getByRole('button', { name: 'Restore', exact: true })
  expect(await restore.isEnabled()).toBe(false) // until the box is typed
  await dialog.getByLabel('Type kita-regenbogen to confirm').fill('kita-regenbogen')
  await assertAccessible(page)
  await screenshots(page, 'snapshots-restore')
  await restore.click()
  await page.getByText('restored and verified').waitFor()
  await page.getByRole('row').filter({ hasText: 'pre-restore' }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'snapshots', { narrow: true })

  await row.getByRole('link', { name: 'kita-regenbogen' }).click()
  await page.getByRole('heading', { name: 'Snapshots of kita-regenbogen' }).waitFor()
  expect(page.url()).toContain('slug=kita-regenbogen')
  assertClean(page)
})
