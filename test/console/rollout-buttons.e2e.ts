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
let anna: ConsolePage
let ben: ConsolePage
let viewer: ConsolePage

test.beforeAll(async ({ browser }) => {
  stage = await openConsoleStage({ boxes: 5 })
  ;[anna, ben, viewer] = await Promise.all([openPage(browser), openPage(browser), openPage(browser)])
  await logIn(anna, stage, await anAccountOf(stage, 'operator'))
  await logIn(ben, stage, await anAccountOf(stage, 'admin'))
  await logIn(viewer, stage, await anAccountOf(stage, 'viewer'))
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

const answerOf = (page: ConsolePage) => page.locator('.page-answer')
const dialogOf = (page: ConsolePage) => page.getByRole('alertdialog')

/** From the press of one operator until the browser of another one shows the answer. */
async function seenByBen(press: () => Promise<void>, answer: string | RegExp): Promise<number> {
  const pressedAt = performance.now()
  await press()
  await answerOf(ben).getByText(answer, { exact: true }).waitFor()
  return performance.now() - pressedAt
}

/** Each within a second on an idle machine; the bound leaves room for a busy one. */
const maxSeenMs = 5000

test('start, pause, resume, promote and roll back by their buttons; another operator sees each, a viewer presses none', async () => {
  const { id } = await stage.api.rollouts.createRollout({
    body: { holdAfter: 'canary', targetSlugs: stage.fleet.boxes.map(({ slug }) => slug) },
  })
  const path = `${stage.url}/console/rollouts/${id}`
  await Promise.all([anna, ben, viewer].map((page) => page.goto(path)))
  await answerOf(ben).getByText('queued').waitFor()

  await anna.getByRole('button', { name: 'Start…' }).press('Enter')
  await dialogOf(anna).getByText('5 boxes are updated', { exact: false }).waitFor()
  await dialogOf(anna).getByText(`tenantry rollouts start ${id}`, { exact: false }).waitFor()
  const seen = [await seenByBen(() => dialogOf(anna).getByRole('button', { name: 'Start' }).click(), 'in progress (canary)')]

  await hover(viewer.getByRole('button', { name: 'Pause…' }))
  await viewer.getByText('This requires the role operator; you are viewer.').waitFor()
  await viewer.getByRole('button', { name: 'Pause…' }).press('Enter')
  expect(await dialogOf(viewer).count()).toBe(0)

  await anna.keyboard.press('Control+k')
  await anna.getByRole('searchbox', { name: 'Page, box or tenant' }).fill('pause rollout')
  await anna.getByRole('menuitem', { name: `Pause rollout ${id}` }).waitFor()
  await anna.keyboard.press('ArrowDown')
  await anna.keyboard.press('Enter')
  await dialogOf(anna).getByText('No further box begins until someone resumes it.', { exact: false }).waitFor()
  const pause = dialogOf(anna).getByRole('button', { name: 'Pause' })
  expect(await pause.isEnabled()).toBe(false) // until the reason is given
  await dialogOf(anna)
    .getByLabel(/^Reason/)
    .fill('reading the log first')
  seen.push(await seenByBen(() => pause.click(), 'paused in canary'))
  await ben.getByText('reading the log first').first().waitFor()

  await anna.getByRole('button', { name: 'Resume…' }).click()
  await dialogOf(anna).getByText('It continues in its phase', { exact: false }).waitFor()
  const resumedAt = performance.now()
  await dialogOf(anna).getByRole('button', { name: 'Resume' }).click()
  await answerOf(ben).getByText('paused in canary').waitFor({ state: 'detached' })
  seen.push(performance.now() - resumedAt)

  await ben.getByRole('button', { name: 'Promote…' }).waitFor({ timeout: 90_000 })
  await screenshots(ben, 'rollout-held', { narrow: true })
  await ben.getByRole('button', { name: 'Promote…' }).click()
  await dialogOf(ben).getByText('It continues past its hold after canary at once, with 4 boxes left.', { exact: false }).waitFor()
  await assertAccessible(ben)
  await dialogOf(ben).getByRole('button', { name: 'Promote' }).click()
  await answerOf(anna).getByText('paused in pro').waitFor({ timeout: 90_000 })

  // Expected beside real downtime, and what the agent measured.
  const table = anna.getByRole('table', { name: 'Boxes' })
  await table.getByRole('columnheader', { name: 'Downtime / expected' }).waitFor()
  await anna.goto(`${path}/boxes/kita-regenbogen`)
  await anna.getByText('Expected downtime').waitFor()
  await anna.getByText(/maintenance ended when (stable|proven)/).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollout-box-done')
  await anna.goto(path)

  await anna.getByRole('button', { name: 'Roll back…' }).click()
  // No mode is preselected.
  await dialogOf(anna).getByText('Choose what happens to the updated boxes.').waitFor()
  await dialogOf(anna)
    .getByLabel(/^Reason/)
    .fill('chat is slow')
  expect(await dialogOf(anna).getByRole('radio', { checked: true }).count()).toBe(0)
  expect(await dialogOf(anna).getByRole('button', { name: 'Roll back' }).isEnabled()).toBe(false)
  await dialogOf(anna)
    .getByText(/^Previous images/)
    .click()
  await dialogOf(anna)
    .getByText(/boxes to roll back by images, in reverse order/)
    .waitFor()
  await dialogOf(anna).getByText('No data is lost.', { exact: false }).waitFor()
  await screenshots(anna, 'rollout-rollback-images')
  seen.push(await seenByBen(() => dialogOf(anna).getByRole('button', { name: 'Roll back' }).click(), /^rolling back \(\d of 4\)$/))
  await answerOf(ben).getByText('4 of 4 boxes rolled back').waitFor({ timeout: 90_000 })
  await answerOf(ben).getByText('rolled back', { exact: true }).waitFor()
  expect(await ben.getByRole('progressbar', { name: 'Progress' }).getAttribute('aria-valuenow')).toBe('0')
  await ben.getByText('1/1 rolled back').first().waitFor()
  await ben.getByRole('region', { name: 'Phases' }).getByText('synapse 1.163.2 → 1.157.1').waitFor()
  await ben.getByText(/^Manifest revision \d+ still asks for synapse 1\.163\.2: the next rollout updates the boxes again\./).waitFor()
  await ben.getByRole('link', { name: /^Open manifest \d+ to apply it again$/ }).waitFor()
  await ben
    .getByText(/tenantry manifest rollback \d+/)
    .first()
    .waitFor()
  const versions = (await stage.api.boxes.listBoxes()).boxes.map(({ installed }) => installed?.synapse)
  expect(new Set(versions)).toEqual(new Set(['1.157.1']))
  await assertAccessible(ben)
  await screenshots(ben, 'rollout-rolled-back', { narrow: true })
  for (const ms of seen) expect(ms).toBeLessThan(maxSeenMs)
  for (const page of [anna, ben, viewer]) assertClean(page)
})
