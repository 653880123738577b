import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
/** What Prometheus answers to every query. */
let value = '0.75'
const prometheus = createServer((_, response) => {
  response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result: [{ metric: {}, value: [1, value] }] } }))
})

test.beforeAll(async ({ browser }) => {
  await new Promise<void>((listens) => prometheus.listen(0, '127.0.0.1', listens))
  const env = {
    TENANTRY_PROMETHEUS_URL: `http://127.0.0.1:${(prometheus.address() as AddressInfo).port}`,
    TENANTRY_ROLLOUTS_POLL_MS: '500',
  }
  stage = await openConsoleStage({ boxes: 3, env })
  const gates = {
    errors: { query: 'sum(rate(errors_total[5m]))', atMost: 0.5, for: '10m' },
    boxes: { query: 'sum(tenantry_box_up) > 0', atLeast: 0, onNoAnswer: 'continue' },
  }
  await stage.api.boxes.applyManifest({ body: { manifest: { ...(stage.fleet.after as object), gates } } })
  page = await openPage(browser)
  await logIn(page, stage, await anAccountOf(stage, 'operator'), '/plan')
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
  prometheus.close()
})

test('gates are in the plan, with limits and query', async () => {
  const gates = page.getByRole('region', { name: 'Gates' })
  await gates.getByText('at most 0.5 for 10 min').waitFor()
  expect(await gates.getByRole('listitem').allInnerTexts()).toEqual([
    expect.stringMatching(/errors\s+at most 0\.5 for 10 min\s+sum\(rate\(errors_total\[5m\]\)\)\s+pauses without an answer/),
    expect.stringMatching(/boxes\s+at least 0\s+sum\(tenantry_box_up\) > 0\s+continues without an answer/),
  ])
  await assertAccessible(page)
  await screenshots(page, 'rollout-plan-gates', { narrow: true })
  assertClean(page)
})

test('a rollout shows each gate with its value and time, and asks anew when it is resumed', async () => {
  const { id } = await stage.api.rollouts.createRollout({ body: { targetSlugs: stage.fleet.boxes.slice(0, 3).map(({ slug }) => slug) } })
  await page.goto(`${stage.url}/console/rollouts/${id}`)
  const gates = page.getByRole('region', { name: 'Gates' })
  await gates.getByText('not asked').first().waitFor()
  await stage.api.rollouts.startRollout({ params: { id }, body: {} })
  await gates.getByText('failed').waitFor()
  expect(await gates.getByRole('listitem').first().innerText()).toMatch(/errors\s+failed\s+0\.75\s+.*(now|ago)\s+at most 0\.5 for 10 min/s)
  await page
    .getByText(/gates after canary stopped: errors must be at most 0\.5 for 10 min and is 0\.75/)
    .first()
    .waitFor()
  await page.getByText(/gate boxes: 0\.75 at .* UTC, passed/).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'rollout-gates', { narrow: true })

  value = '0.25'
  await page.getByRole('button', { name: 'Promote' }).waitFor()
  await stage.api.rollouts.resumeRollout({ params: { id }, body: {} })
  await gates.getByText('holding').waitFor()
  await page.getByText(/waiting for gates after canary: errors: 0\.25 at/).waitFor()
  assertClean(page)
})
