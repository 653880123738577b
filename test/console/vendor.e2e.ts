import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freePort, openStage, type Stage } from '../../src/demo/stage.ts'
import { aPng } from '../support/images.ts'
import { aSubmission } from '../support/marketplace-world.ts'
import { closePages, test } from './browser.ts'
import { assertAccessible, assertClean, type ConsolePage, openPage, screenshots } from './support.ts'

// docs/vendors.md as a vendor does it, on a phone first: a real daemon that writes its mails to a folder, Debian's Chromium.

const ann = 'ann@vendor.example'

let stage: Stage

test.beforeAll(async () => {
  stage = await openStage(await freePort(0), {})
  const { submissionId: id } = await stage.api.marketplace.submitItem({ body: aSubmission({ name: 'Doors' }) })
  await stage.api.marketplace.approveMarketplaceSubmission({ params: { id }, body: {} })
  await stage.api.marketplace.submitItem({ body: aSubmission({ name: 'Gates' }) })
}, 180_000)
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
  await stage?.removeFiles()
})

/** No wider than a phone or a window, and accessible at both. */
async function look(page: ConsolePage, name: string): Promise<void> {
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 })
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).toBeLessThanOrEqual(0)
    await assertAccessible(page, { inDark: width === 390 })
  }
  await screenshots(page, `vendor-${name}`)
}

/** The link of the mail that opens the account. */
async function linkOfMail(): Promise<string | undefined> {
  const folder = join(stage.folder, 'daemon', 'mail')
  for (const name of await readdir(folder).catch(() => [])) {
    const text = (await readFile(join(folder, name), 'utf8')).replace(/=\r?\n/g, '').replaceAll('=3D', '=')
    const link = /http:\S+\/vendor\/open\?token=[\w.-]+/.exec(text)?.[0]
    if (link) return link
  }
  return undefined
}

const lastYear = new Date().getUTCFullYear() - 1

test('a vendor opens the account by a link, confirms a submission, adds a screenshot, withdraws an item and logs out', async ({
  browser,
}) => {
  const page = await openPage(browser, { viewport: { width: 390, height: 844 }, hasTouch: true })
  await page.goto(`${stage.url}/vendor`)
  await page.getByRole('heading', { name: 'Your account at the marketplace' }).waitFor()
  await look(page, 'login')
  await page.getByLabel('Mail address').fill(ann)
  await page.getByRole('button', { name: 'Send a link' }).click()
  await page.getByText('If this address has an account').waitFor()
  await look(page, 'sent')

  await expect.poll(linkOfMail, { timeout: 60_000 }).toBeDefined()
  const link = (await linkOfMail()) ?? ''
  // A mail scanner reads the link, twice.
  for (const _ of [1, 2]) expect((await fetch(link)).status).toBe(200)
  await page.goto(link)
  await page.getByRole('button', { name: 'Open account' }).waitFor()
  await look(page, 'open')
  await page.getByRole('button', { name: 'Open account' }).click()
  await page.getByRole('table', { name: 'Items' }).waitFor()
  expect(page.url()).toBe(`${stage.url}/vendor/items`)
  expect(await page.evaluate('document.cookie')).toBe('')
  await look(page, 'items')

  await page.getByRole('link', { name: 'Submissions' }).click()
  await page.getByRole('link', { name: 'Gates' }).click()
  await page.getByText('pending, not confirmed').waitFor()
  await page.getByRole('button', { name: 'This was me…' }).click()
  await page.getByRole('alertdialog').waitFor()
  await look(page, 'confirm')
  await page.getByRole('button', { name: 'This was me', exact: true }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  const picture = join(stage.folder, 'shot.png')
  await writeFile(picture, aPng(320, 200))
  await page.getByLabel('Picture').setInputFiles(picture)
  await page.getByRole('button', { name: 'Add screenshot' }).click()
  const shown = page.getByRole('img', { name: 'Screenshot 1, 320 x 200 pixels' })
  await shown.waitFor()
  await expect.poll(() => shown.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)).toBe(320)
  await look(page, 'submission')
  await page.getByRole('button', { name: 'Delete screenshot 1…' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await shown.waitFor({ state: 'detached' })

  await page.getByRole('link', { name: 'Items' }).click()
  await page.getByRole('link', { name: 'Doors' }).click()
  await page.getByRole('table', { name: 'Versions' }).waitFor()
  await look(page, 'item')
  await page.getByRole('button', { name: 'Withdraw…' }).click()
  await page.getByText('Organisations that have it keep it').waitFor()
  await look(page, 'withdraw')
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click()
  await page.getByText('withdrawn').waitFor()
  expect(await page.getByRole('button', { name: 'Withdraw…' }).count()).toBe(0)

  await page.goto(`${stage.url}/vendor/sales?year=${lastYear}`)
  await page.getByText(`${lastYear}-01 to ${lastYear}-12`).waitFor()
  for (const [name, text] of [
    ['Sales', 'Nothing was sold in these months'],
    ['Payouts', 'No statements yet'],
    ['Account', ann],
  ] as const) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.locator('#main').getByText(text).waitFor()
    await look(page, name.toLowerCase())
  }
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Mail address').waitFor()
  await page.goto(`${stage.url}/vendor/items`)
  await page.getByLabel('Mail address').waitFor()
  await page.goto(link)
  await page.getByRole('button', { name: 'Open account' }).click()
  await page.getByText('LINK_INVALID').waitFor()
  assertClean(page)
})
