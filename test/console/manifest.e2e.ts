import { expect } from 'vitest'
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
  stage = await openConsoleStage({ boxes: 2 })
  page = await openPage(browser)
  await logIn(page, stage, await anAccountOf(stage, 'operator'), '/manifest')
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

const revisionNow = async () => (await stage.api.boxes.showManifest()).revision

test('the current manifest, its history and an earlier revision with its changes', async () => {
  const current = await revisionNow()
  const changes = page.getByRole('table', { name: `Changes from revision ${current - 1}` })
  await changes.getByText('tiers.pro.synapse').waitFor()
  await page.getByText(/2 boxes to update/).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'manifest', { narrow: true })
  await page
    .getByRole('table', { name: 'History' })
    .getByRole('link', { name: `${current - 1}`, exact: true })
    .click()
  await page.getByText(`Revision ${current - 1}, superseded by revision ${current}`).waitFor()
  await page
    .getByRole('table', { name: `Changes if applied again, from revision ${current}` })
    .getByText('tiers.free.synapse')
    .waitFor()
  await page.getByText(`tenantry manifest show --revision ${current - 1}`).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'manifest-earlier')
  await page.goBack()
  await changes.waitFor()
  await page.goto(`${stage.url}/console/manifest?revision=99`)
  await page.getByText('Revision 99 does not exist').waitFor()
  assertClean(page)
})

test('a new manifest is checked, compared and applied only after its changes were shown', async () => {
  const before = await revisionNow()
  await page.goto(`${stage.url}/console/manifest/new`)
  const text = page.getByLabel('Manifest in YAML or JSON')
  const start = await text.inputValue()
  expect(start).toContain('synapse: 1.163.2')
  await text.fill('images: [')
  await page.getByRole('button', { name: 'Show the changes' }).click()
  await page.getByText('the text is not YAML', { exact: false }).waitFor()
  await text.fill(start.replace('synapse: 1.163.2', 'synapse: latest'))
  await page.getByRole('button', { name: 'Show the changes' }).click()
  await page.getByText('"latest" is not one', { exact: false }).first().waitFor()
  await assertAccessible(page)
  await screenshots(page, 'manifest-invalid')

  await text.fill(start.replace('synapse: 1.163.2', 'synapse: 1.164.0'))
  await page.getByRole('button', { name: 'Show the changes' }).press('Enter')
  await page.getByRole('heading', { name: `1 change from revision ${before}` }).waitFor()
  await page.getByRole('button', { name: 'Apply…' }).press('Enter')
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('Boxes are unchanged', { exact: false }).waitFor()
  await dialog.getByText('tenantry manifest apply manifest.yaml').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'manifest-apply')
  expect(await revisionNow()).toBe(before)

  // Another operator applies a manifest while this dialog is open: its button is refused with the reason.
  await stage.api.boxes.applyManifest({ body: { manifest: stage.fleet.before } })
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await dialog.getByText(`the current manifest is now revision ${before + 1}, not ${before}`, { exact: false }).waitFor()
  expect(await revisionNow()).toBe(before + 1)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Show the changes' }).click()
  await page.getByRole('heading', { name: `3 changes from revision ${before + 1}` }).waitFor()
  await page.getByRole('button', { name: 'Apply…' }).click()
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await page.getByText(`Revision ${before + 2} is applied.`).waitFor()
  expect((await stage.api.boxes.showManifest()).manifest.tiers.free.synapse).toBe('1.164.0')
  await page.getByRole('link', { name: 'Plan a rollout' }).waitFor()
  assertClean(page)
})

test('an earlier manifest is applied again; a viewer reads it and applies nothing', async ({ browser }) => {
  const current = await revisionNow()
  const viewer = await openPage(browser)
  await logIn(viewer, stage, await anAccountOf(stage, 'viewer'), `/manifest?revision=${current - 1}`)
  const again = viewer.getByRole('button', { name: 'Apply again…' })
  await hover(again)
  await viewer.getByText('This requires the role operator; you are viewer.').waitFor()
  await again.press('Enter')
  expect(await viewer.getByRole('alertdialog').count()).toBe(0)

  await page.goto(`${stage.url}/console/manifest?revision=${current - 1}`)
  await page.getByRole('button', { name: 'Apply again…' }).click()
  await page.getByText(`tenantry manifest rollback ${current - 1}`).waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Apply' }).click()
  await page
    .getByText(`Revision ${current + 1}`)
    .first()
    .waitFor()
  expect((await stage.api.boxes.showManifest()).manifest).toEqual(stage.fleet.before)
  assertClean(page)
  assertClean(viewer)
})
