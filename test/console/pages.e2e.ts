import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect, vi } from 'vitest'
import { parse } from 'yaml'
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

// Every page of the console, at the width of a desk and of a phone, in light, and in dark at one width.

const folder = 'src/console'
/** The paths that the features declare, `/boxes/$slug`. */
const paths = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(`${folder}/${entry.name}`).includes('index.ts'))
  .flatMap(({ name }) =>
    [...readFileSync(`${folder}/${name}/index.ts`, 'utf8').matchAll(/\bpath: '([^']+)'/g)].map(([, path]) => path as string),
  )

const installation = 'Nord, production'
let stage: ConsoleStage
let page: ConsolePage
/** Addresses of pages that are about one thing; other pages have none in their path. */
let addresses: Readonly<Record<string, string>>

test.beforeAll(async ({ browser }) => {
  const env = { TENANTRY_INSTALLATION_NAME: installation }
  stage = await openConsoleStage({ boxes: 4, env })
  const { slug, host } = stage.fleet.boxes[0] as (typeof stage.fleet.boxes)[number]
  const bundle = parse(await readFile('config/flows/crisis-alert.yaml', 'utf8'))
  const board = await stage.api.boards.importTenantBoard({ params: { slug }, body: { bundle } })
  const { id } = await stage.api.rollouts.createRollout({ body: { targetSlugs: stage.fleet.boxes.map((box) => box.slug) } })
  await stage.api.rollouts.startRollout({ params: { id }, body: {} })
  const paused = async () => expect((await stage.api.rollouts.getRollout({ params: { id } })).status).toBe('paused')
  await vi.waitFor(paused, { timeout: 120_000, interval: 500 })
  const [alert] = (await stage.api.alerts.listAlerts({ query: { limit: 1 } })).alerts
  addresses = {
    '/alerts/$id': `/alerts/${alert?.id}`,
    '/boxes/$slug': `/boxes/${stage.fleet.unlucky}`,
    '/boards/$slug/$id': `/boards/${slug}/${board.id}`,
    '/runs/$slug/$id': `/runs/${slug}/run_gone`,
    '/crons/$key': '/crons/tenant-box-drift-detection',
    '/hosts/$name': `/hosts/${host}`,
    '/marketplace/submissions/$id': '/marketplace/submissions/sub_gone',
    '/marketplace/vendors/$id': '/marketplace/vendors/ven_1',
    '/modules/$id': '/modules/gone',
    '/reviews/$id': '/reviews/sub_1',
    '/rollouts/$id': `/rollouts/${id}`,
    '/rollouts/$id/boxes/$slug': `/rollouts/${id}/boxes/${stage.fleet.unlucky}`,
    '/tenants/$slug': `/tenants/${slug}`,
    '/tenants/$slug/users/$user': `/tenants/${slug}/users/anna`,
  }
  page = await openPage(browser)
  await page.route('**/api/admin/v1/tenants/*/users/anna', (route) => route.fulfill({ json: user }))
  await page.route('**/sessions?user=anna*', (route) => route.fulfill({ json: { sessions: [], nextCursor: null } }))
  await page.route('**/admin/reviews/sub_1', (route) => route.fulfill({ json: review }))
  await page.route('**/api/admin/marketplace/vendors/ven_1', (route) => route.fulfill({ json: vendor }))
  await page.route('**/api/admin/marketplace/vendors/ven_1/sales', (route) =>
    route.fulfill({ json: { from: '2026-01', to: '2026-01', sales: [sale] } }),
  )
  await page.route('**/api/admin/marketplace/vendors/ven_1/payouts', (route) => route.fulfill({ json: { payouts: [payout] } }))
  await logIn(page, stage, await anAccountOf(stage, 'admin'))
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

const at = '2026-01-05T02:00:00.000Z'
const user = {
  ...{ id: 'usr_1', tenant: 'school', localpart: 'anna', matrixUserId: '@anna:school.example', displayName: 'Anna', locale: null },
  ...{ avatarUrl: null, roles: ['teacher'], status: 'active', createdAt: at, updatedAt: at, passwordUnknownSince: at },
}
const submission = {
  ...{ id: 'sub_2', itemType: 'app', name: 'Attendance', version: '1.0.0', status: 'pending', confirmed: true, itemId: 'itm_1' },
  ...{ reviewNotes: null, reviewedAt: null, createdAt: at, updatedAt: at },
}
const item = {
  ...{
    id: 'itm_1',
    itemType: 'app',
    slug: 'attendance',
    name: 'Attendance',
    description: 'Counts',
    iconEmoji: '📋',
    category: 'education',
  },
  ...{ vendorId: 'ven_1', version: '1.0.0', status: 'published', priceModel: 'flat-monthly', priceCents: 900, currency: 'eur' },
  ...{ screenshots: [], withdrawnAt: null, publishedAt: at, updatedAt: at, installations: 3 },
}
const vendor = {
  ...{ id: 'ven_1', name: 'Modules Ltd', contactEmail: 'dora@modules.example', country: 'DE', applicationFeePercent: 15 },
  ...{
    paymentAccountId: null,
    paymentAccountStatus: 'active',
    chargesEnabled: true,
    payoutsEnabled: true,
    createdAt: at,
    updatedAt: at,
    items: [item],
    submissions: [submission],
  },
}
const sale = {
  month: '2026-01',
  itemId: 'itm_1',
  name: 'Attendance',
  priceModel: 'flat-monthly',
  quantity: 3,
  cents: 2700,
  currency: 'eur',
}
const amounts = { grossCents: 2700, feeCents: 405, netCents: 2295, heldCents: 0, deductedCents: 0 }
const payout = { id: 'pay_1', month: '2026-01', ...amounts, currency: 'eur', state: 'listed', createdAt: at }
const finding = { rule: 'no-eval', message: 'eval is forbidden', line: 1, column: 1 }
const none = { added: [], removed: [] }
const review = {
  ...{ id: 'sub_1', moduleId: 'attendance', version: '1.0.0', status: 'in_review', createdAt: at, checksum: 'a'.repeat(64) },
  ...{ developer: { name: 'Dora', organization: 'Modules', verified: false }, downloadUrl: '/package', warnings: ['asks for much'] },
  manifest: { type: 'A', description: 'Counts who is there', permissions: ['spaces.read'] },
  scan: { ok: false, files: 1, violations: [finding] },
  difference: { previousVersion: null, permissions: none, subscribes: none, publishes: none, files: { ...none, changed: [] } },
  test: { ms: 5, ok: true, ran: [{ step: 'route', ok: true, ms: 4, message: '' }], log: ['a line'] },
  sources: [{ file: 'index.js', bytes: 10, text: 'eval("1")', findings: [finding] }],
}

const widths = [
  ['desk', { width: 1440, height: 900 }],
  ['phone', { width: 390, height: 844 }],
] as const

/** Parts that are wider than the page, or whose text is cut where a title must not be. */
const misfits = `(() => {
  const [root, main] = [document.documentElement, document.getElementById('main')]
  const wide = [root, main].filter((one) => one && one.scrollWidth > one.clientWidth + 1).map(({ tagName }) => tagName + ' scrolls sideways')
  const titles = [...document.querySelectorAll('h1, h2, .card-title, .button')].filter((one) => one.offsetParent)
  const isNarrow = innerWidth < 761
  const cut = titles.filter((one) => isNarrow && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== 'visible')
  return [...wide, ...cut.map((one) => 'cut: ' + one.textContent)]
})()`

/** By then a page that became narrower has changed its tables to cards. */
const nextFrame = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'

/** A page that reloads itself, because the browser ended what it loaded when a container of another test came or went, ends this navigation. */
const open = (address: string) =>
  page.goto(address).catch((error: unknown) => {
    if (!String(error).includes('ERR_ABORTED')) throw error
    return page.goto(address)
  })

test.each(paths)('%s is accessible, fits a desk and a phone, and names itself and the installation', async (path) => {
  const address = addresses[path] ?? path
  expect(address, `add an address of ${path} to this test`).not.toContain('$')
  await page.setViewportSize(widths[0][1])
  await open(`${stage.url}/console${address}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
  await expect.poll(() => page.title()).toMatch(/^(\(\d+\) )?.+ · Nord, production · Tenantry$/)
  for (const [name, size] of widths) {
    await page.setViewportSize(size)
    await page.evaluate(nextFrame)
    await assertAccessible(page, { inDark: name === 'desk' })
    expect(await page.evaluate(misfits)).toEqual([])
    await screenshots(page, `page${address.replaceAll('/', '-')}-${name}`)
  }
  assertClean(page)
})

test('the login names the product and the installation, before anybody is known', async ({ browser }) => {
  const stranger = await openPage(browser, { viewport: widths[1][1] })
  await stranger.goto(`${stage.url}/console/login`)
  await stranger.getByRole('heading', { name: 'Log in' }).waitFor()
  await stranger.getByText('Tenantry').waitFor()
  await stranger.getByText(installation).waitFor()
  await assertAccessible(stranger)
  await screenshots(stranger, 'login')
  assertClean(stranger)
})
