import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { systemClock } from '../../src/node/index.ts'
import { tenantry } from '../support/command-line.ts'
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

const approvalToken = 'Zq7x-approval-token-of-this-test-PwK2'
const approvalTokenSha256 = createHash('sha256').update(approvalToken).digest('hex')
/** Text of an operator that would be harmful as HTML. */
const evil = '<img src=x onerror="window.evil = 1"> weekly'

let stage: ConsoleStage
let anna: ConsolePage
let ben: ConsolePage

test.beforeAll(async ({ browser }) => {
  const env = { TENANTRY_APPROVAL_TOKEN_SHA256: approvalTokenSha256 }
  stage = await openConsoleStage({ boxes: 5, env })
  ;[anna, ben] = await Promise.all([openPage(browser), openPage(browser)])
  await logIn(anna, stage, await anAccountOf(stage, 'operator'), '/plan')
  await logIn(ben, stage, await anAccountOf(stage, 'admin'), '/rollouts')
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

/** What the CLI says of the same rollout. */
async function cli(...line: string[]): Promise<string> {
  const { stdout } = await tenantry(line, { url: stage.url, env: { TENANTRY_TOKEN: stage.token }, clock: systemClock })
  return stdout
}

const idIn = (page: ConsolePage): string => /rollouts\/(ro_[0-9a-z]+)/.exec(page.url())?.[1] ?? ''
const answerOf = (page: ConsolePage) => page.locator('.page-answer')

test('plan, rehearse, create and start; a box fails; read why; resume without it; done; the CLI agrees', async () => {
  await anna.getByText(/5 boxes to update/).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollout-plan', { narrow: true })

  await anna.getByLabel('Boxes that fail').fill(stage.fleet.unlucky)
  await anna.getByRole('button', { name: 'Rehearse', exact: true }).click()
  await anna.getByText('The rollout would pause 1 time.').waitFor({ timeout: 90_000 })
  await anna.getByRole('img', { name: /Expected course: 4 of 5 boxes updated, 1 failed/ }).waitFor()
  await anna.locator('.chart canvas').waitFor()
  await assertAccessible(anna)
  await anna.locator('.chart').scrollIntoViewIfNeeded()
  await screenshots(anna, 'rollout-rehearsal', { narrow: true })

  await anna.getByRole('button', { name: 'Create…' }).click()
  const dialog = anna.getByRole('alertdialog')
  await dialog.getByText('5 boxes are updated', { exact: false }).waitFor()
  await dialog.getByLabel(/^Reason/).fill(evil)
  await dialog.getByText("tenantry rollouts create --reason '<img src=x", { exact: false }).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollout-create', { narrow: true })
  // Of the creation the answer is lost, and the start is refused once: neither leads to a second rollout.
  await anna.route('**/rollouts', (route) => route.fetch().then(() => route.abort()), { times: 1 })
  const unavailable = { code: 'UNAVAILABLE', message: 'not now', retryable: true }
  await anna.route('**/rollouts/*/start', (route) => route.fulfill({ status: 503, json: unavailable }), { times: 1 })
  for (const answer of ['The daemon does not answer', 'not now']) {
    await dialog.getByRole('button', { name: 'Start now' }).click()
    await dialog.getByRole('alert').getByText(answer, { exact: false }).waitFor()
  }
  await dialog.getByRole('button', { name: 'Start now' }).click()
  await anna.getByRole('heading', { name: /^Rollout ro_/ }).waitFor()
  const id = idIn(anna)
  expect((await stage.api.rollouts.listRollouts({ query: {} })).rollouts.map((one) => one.id)).toEqual([id])

  await ben.getByRole('link', { name: id }).click()
  await anna.getByRole('region', { name: 'In progress' }).waitFor()
  await screenshots(anna, 'rollout-running', { narrow: true })
  await answerOf(ben).getByText('paused in pro').waitFor({ timeout: 120_000 })
  await answerOf(anna).getByText('paused in pro').waitFor()

  await anna.getByText('4 of 5 boxes updated, 1 failed').first().waitFor()
  const failures = anna.getByRole('region', { name: 'Failures' })
  await failures.getByText('PROBE_FAILED', { exact: true }).waitFor()
  const action = await stage.api.rollouts.getRolloutAction({ params: { id, slug: stage.fleet.unlucky } })
  const shown = (await failures.innerText()).replaceAll(/\s+/g, ' ')
  const told = (await cli('rollouts', 'show', id)).replaceAll(/\s+/g, ' ')
  const watched = (await cli('rollouts', 'watch', id)).replaceAll(/\s+/g, ' ')
  expect(told).toContain('paused in pro')
  expect(watched).toContain('4 of 5 boxes updated, 1 failed')
  // The same sentences and commands on both sides.
  for (const part of [
    action.action.error?.message.replaceAll(/\s+/g, ' ') as string,
    'rolled back to the previous version',
    `tenantry rollouts resume ${id} --skip-failed`,
    `tenantry rollouts abort ${id}`,
  ])
    for (const side of [shown, told]) expect(side).toContain(part)
  // It returned to the copy of its volume, before the snapshot of that copy was stored.
  expect(action.action).toMatchObject({ snapshotId: null, fenceMode: 'until-proven' })
  expect(shown).toMatch(/duration \d+ s.*downtime \d+ s/)
  await anna.getByText(evil).first().waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollout-paused', { narrow: true })

  await failures.getByRole('link', { name: 'Evidence' }).click()
  await anna.getByRole('region', { name: 'Attempt 1' }).getByText('rolled back', { exact: true }).waitFor()
  await anna.getByRole('heading', { name: 'Probes' }).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollout-box', { narrow: true })
  await anna.goBack()
  await answerOf(anna).getByText('paused in pro').waitFor()
  await anna.getByText('4 of 5 boxes updated, 1 failed').first().waitFor()

  // Ben reads a dialog while Anna acts: he is told what has changed, and his button is refused with the reason.
  await ben.getByRole('button', { name: 'Abort…' }).click()
  await ben.getByRole('alertdialog').getByText('4 boxes that are updated stay updated', { exact: false }).waitFor()
  // The overview leads a stranger to the decision.
  await anna.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click()
  await anna.getByText(/^1 rollout is paused and needs your decision/).waitFor()
  const decision = anna.getByRole('region', { name: 'Decision required' })
  await decision.getByText(/realschule-am-see failed and was rolled back/).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'overview-paused', { narrow: true })
  await decision.getByRole('link', { name: 'Resume…' }).click()
  const resume = anna.getByRole('alertdialog')
  await resume.getByText(/^Leave out realschule-am-see/).click()
  await resume.getByText(`tenantry rollouts resume ${id} --skip-failed`).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollout-resume', { narrow: true })
  await resume.getByRole('button', { name: 'Resume' }).click()
  const pressedAt = performance.now()
  await ben.getByText('This has changed since you opened the dialog.').waitFor()
  expect(performance.now() - pressedAt).toBeLessThan(5000)
  await answerOf(anna).getByText('done').waitFor()
  await ben.getByText(/it is now done/).waitFor()
  await screenshots(ben, 'rollout-stale', { narrow: true })
  await ben.getByRole('alertdialog').getByRole('button', { name: 'Abort' }).click()
  await ben.getByText('INVALID_TRANSITION').waitFor()
  await ben.getByText('the rollout is finished (done)', { exact: false }).waitFor()
  await ben.getByRole('button', { name: 'Cancel' }).click()

  expect(await cli('rollouts', 'show', id)).toContain('done (4 updated, 1 skipped)')
  await anna.getByText('4 of 5 boxes updated, 1 failed and skipped').first().waitFor()
  // The skipped box is updated by a small rollout of its own; its plan warns of what happened.
  await anna.getByRole('link', { name: 'Update the skipped box…' }).click()
  await anna
    .getByText(/^1 box to update/)
    .first()
    .waitFor()
  await anna.getByText(/^realschule-am-see: realschule-am-see was rolled back from synapse 1\.163\.2/).waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'plan-of-skipped', { narrow: true })

  await ben.getByRole('button', { name: 'Roll back…' }).click()
  const rollback = ben.getByRole('alertdialog')
  await rollback.getByText(/^Previous snapshots/).click()
  await rollback.getByText(/DATA LOSS/).waitFor()
  await rollback.getByLabel(/^Reason/).fill('not really')
  expect(await rollback.getByRole('button', { name: 'Roll back' }).isEnabled()).toBe(false) // until the id is typed
  await assertAccessible(ben)
  await screenshots(ben, 'rollout-rollback', { narrow: true })
  await ben.getByRole('button', { name: 'Cancel' }).click()

  await anna.goto(`${stage.url}/console/rollouts`)
  await anna.getByRole('table', { name: 'Rollouts' }).getByText('done (1 skipped)').waitFor()
  await assertAccessible(anna)
  await screenshots(anna, 'rollouts', { narrow: true })
  expect(await anna.evaluate('window.evil')).toBeUndefined()
  assertClean(anna)
  assertClean(ben)
})

test('a viewer reads everything and presses nothing', async ({ browser }) => {
  const viewer = await openPage(browser)
  await logIn(viewer, stage, await anAccountOf(stage, 'viewer'), '/plan')
  await viewer
    .getByText(/to update/)
    .first()
    .waitFor()
  const create = viewer.getByRole('button', { name: 'Create…' })
  await hover(create)
  await viewer.getByText('This requires the role operator; you are viewer.').waitFor()
  await create.click({ force: true })
  expect(await viewer.getByRole('alertdialog').count()).toBe(0)
  await viewer.goto(`${stage.url}/console/rollouts/ro_00000000000000000000`)
  await viewer.getByText('This rollout does not exist.').waitFor()
  await assertAccessible(viewer)
  assertClean(viewer)
})

test('an emergency asks in the order of the CLI, and is not sent by accident', async () => {
  await anna.goto(`${stage.url}/console/rollouts/emergency`)
  await anna.getByText('An emergency requires the role admin.').waitFor()
  await assertAccessible(anna)

  await ben.goto(`${stage.url}/console/rollouts/emergency`)
  await ben.getByLabel('CVE id').fill('CVE-2026')
  await ben.keyboard.press('Enter')
  await ben.getByText('Enter a CVE id such as CVE-2026-12345.').waitFor()
  await ben.getByText('Enter at least one version.').waitFor()
  await assertAccessible(ben)
  await ben.getByLabel('CVE id').fill('cve-2026-12345')
  await ben.getByLabel('How is it exploited').fill('rooms of others can be read')
  await ben.getByLabel('Synapse (chat server)').fill('1.163.2')
  await ben.getByLabel('Decided by').fill('Anna, on call')
  await screenshots(ben, 'emergency-order', { narrow: true })
  await ben.getByRole('button', { name: 'Show what it does' }).click()
  await ben.getByText('No canary phase; maintenance windows are ignored.', { exact: false }).waitFor()
  await assertAccessible(ben)
  await screenshots(ben, 'emergency-plan', { narrow: true })
  await ben.getByRole('button', { name: 'Continue to the confirmation' }).click()

  const send = ben.getByRole('button', { name: 'Send: create the emergency' })
  expect(await send.isEnabled()).toBe(false)
  await ben.getByLabel('Type CVE-2026-12345 to confirm').fill('CVE-2026-12344')
  await ben.getByLabel('Approval token').fill('a wrong one')
  expect(await send.isEnabled()).toBe(false)
  await ben.getByLabel('Type CVE-2026-12345 to confirm').fill('CVE-2026-12345')
  await ben.keyboard.press('Enter')
  expect((await stage.api.rollouts.listRollouts({ query: { kind: 'emergency_cve' } })).rollouts).toEqual([])
  await screenshots(ben, 'emergency-confirm', { narrow: true })
  await send.click()
  await ben.getByText('The approval token is wrong. 2 tries left.').waitFor()
  await assertAccessible(ben)
  await ben.getByLabel('Approval token').fill(approvalToken)
  await send.click()
  await ben.getByText('Created and queued', { exact: false }).waitFor()
  await ben.getByRole('link', { name: 'Open the rollout' }).click()
  await ben.getByRole('heading', { name: /^Rollout cve-/ }).waitFor()
  await answerOf(ben).getByText('queued').waitFor()
  await screenshots(ben, 'emergency-queued')
  await ben.getByRole('button', { name: 'Abort…' }).click()
  await ben.getByRole('alertdialog').getByRole('button', { name: 'Abort' }).click()
  await answerOf(ben).getByText('aborted').waitFor()
  assertClean(ben)
})
