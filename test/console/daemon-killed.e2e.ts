import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { simulatedFleet } from '../../src/demo/fleet.ts'
import { enrolHosts, provisionFleet, simulatedAgents } from '../../src/demo/stage.ts'
import { freePort } from '../support/free-port.ts'
import { realDaemon, type Started } from '../support/real-daemon.ts'
import { clientOf } from '../support/running-daemon.ts'
import { closePages, test } from './browser.ts'
import { assertAccessible, logIn, openPage, screenshots } from './support.ts'

const account = { name: 'anna', password: 'correct horse battery staple' }
const boxes = simulatedFleet.boxes.filter(({ host, slug }) => host === 'amsel' && slug !== simulatedFleet.unlucky).slice(0, 3)

/** `tenantryd` as a process over a file database, with one admin and no hosts. `kill` ends it without a warning. */
async function aDaemonProcess() {
  const tenantryd = await realDaemon()
  const folder = await mkdtemp(join(tmpdir(), 'daemon-killed-'))
  const env = {
    ...simulatedFleet.env,
    TENANTRY_LISTEN: `127.0.0.1:${await freePort()}`,
    TENANTRY_DATA_DIR: join(folder, 'daemon'),
    TENANTRY_BACKUP_KEY: Buffer.alloc(32, 3).toString('base64'),
    TENANTRY_SNAPSHOT_STORE: `file:${join(folder, 'snapshots')}`,
    TENANTRY_ADMIN_REQUIRE_TOTP: 'false',
  }
  expect(await tenantryd(['admin', 'create', '--name', account.name], env, `${account.password}\n`).ended).toMatchObject({ exit: 0 })
  let process: Started
  const start = async () => {
    process = tenantryd(['serve'], env)
    await process.says('tenantryd is ready')
  }
  const kill = async () => {
    process.stop('SIGKILL')
    expect(await process.ended).toMatchObject({ exit: null })
  }
  await start()
  onTestFinished(() => process.stop('SIGKILL'))
  const url = `http://${env.TENANTRY_LISTEN}`
  const { token } = await clientOf(url).admin.login({ body: account })
  return { url, folder, api: clientOf(url, `Bearer ${token}`), start, kill }
}

/** Hosts with boxes on the old version; the manifest has the new one. */
async function withBoxes(daemon: Awaited<ReturnType<typeof aDaemonProcess>>): Promise<void> {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  await enrolHosts(daemon, { names: ['amsel'], startAgent: simulatedAgents(simulatedFleet) }, stop.signal)
  await daemon.api.boxes.applyManifest({ body: { manifest: simulatedFleet.before } })
  await provisionFleet(daemon, { boxes, onReady: () => undefined }, stop.signal)
  await daemon.api.boxes.applyManifest({ body: { manifest: simulatedFleet.after } })
}

test('the daemon is killed while a rollout is watched: the page says so and goes stale, and is live again after the restart', async ({
  browser,
}) => {
  const daemon = await aDaemonProcess()
  onTestFinished(() => closePages(browser))
  await withBoxes(daemon)
  const { id } = await daemon.api.rollouts.createRollout({ body: {} })
  const [page, list] = await Promise.all([openPage(browser), openPage(browser)])
  await list.clock.install()
  await logIn(page, daemon, account, `/rollouts/${id}`)
  await logIn(list, daemon, account, '/boxes')
  await list.getByText(/^3 boxes: 3 drifted/).waitFor()
  await daemon.api.rollouts.startRollout({ params: { id }, body: {} })
  await page.getByRole('region', { name: 'In progress' }).getByRole('listitem').first().waitFor()

  await daemon.kill()
  const banner = /The daemon does not answer/
  for (const one of [page, list]) await one.getByText(banner).waitFor()
  const asOf = list.locator('.as-of')
  const lastAnswer = await asOf.innerText()
  await list.clock.fastForward('00:40')
  await expect.poll(() => asOf.getAttribute('class')).toContain('stale')
  expect(await asOf.innerText()).toContain(lastAnswer)
  await list.getByText(/^3 boxes: 3 drifted/).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'daemon-away')

  await daemon.start()
  await list.clock.fastForward('00:10')
  for (const one of [page, list]) await one.getByText(banner).waitFor({ state: 'detached' })
  await page.locator('.page-answer').getByText('done').waitFor({ timeout: 120_000 })
  await page.getByText('3 of 3 boxes updated').first().waitFor()
  await list.clock.fastForward('00:10')
  await expect.poll(() => asOf.getAttribute('class')).not.toContain('stale')
  await list.getByRole('table', { name: 'Boxes' }).getByText('in sync').nth(2).waitFor()
  for (const one of [page, list]) {
    expect(one.url()).toMatch(/\/console\/(boxes|rollouts\/ro_)/)
    expect(one.seen.violations).toEqual([])
  }
})
