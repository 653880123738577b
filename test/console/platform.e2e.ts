import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { parse } from 'yaml'
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
let slug: string
let boardId: string
let submissionId: string

/** Shown as text wherever a name of somebody else appears. */
const hostile = `<img src=x onerror="alert('x')">`

test.beforeAll(async ({ browser }) => {
  stage = await openConsoleStage({ boxes: 3 })
  slug = stage.fleet.boxes[0]?.slug ?? ''
  const bundle = parse(await readFile('config/flows/visitor.yaml', 'utf8'))
  const crisis = parse(await readFile('config/flows/crisis-alert.yaml', 'utf8'))
  boardId = (await stage.api.boards.importTenantBoard({ params: { slug }, body: { bundle: crisis } })).id
  submissionId = await submitFlow(bundle)
  page = await openPage(browser)
  await logIn(page, stage, await anAccountOf(stage, 'operator'))
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
})

async function submitFlow(bundle: unknown): Promise<string> {
  const response = await fetch(`${stage.url}/api/public/marketplace/submissions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ itemType: 'flow', name: `Visitors ${hostile}`, description: hostile, iconEmoji: '👋', category: 'organization' },
      ...{ vendorName: hostile, vendorEmail: 'vendor@example.org', bundle },
    }),
  })
  const answer = (await response.json()) as { submissionId: string }
  expect([response.status, answer]).toEqual([201, expect.objectContaining({ submissionId: expect.any(String) })])
  return answer.submissionId
}

/** Opens a page, waits for its heading, and looks for problems. `pages.e2e.ts` checks accessibility; tests here check it where data are only here. */
async function see(path: string, heading: string | RegExp, name: string): Promise<void> {
  await page.goto(`${stage.url}/console${path}`)
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
  expect(await page.getByRole('alert').allTextContents()).toEqual([])
  await screenshots(page, name)
}

test('hosts: the list, a host, and the lines that enrol a new one', async () => {
  await see('/hosts', 'Hosts', 'hosts')
  const host = stage.fleet.boxes[0]?.host ?? ''
  await page.getByRole('button', { name: 'Invite host' }).click()
  await page.getByLabel('Name of the host').fill('new-host')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByText(`tenantry-agent enrol --url ${stage.url} --token-file`).waitFor()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Done' }).click()
  await see(`/hosts/${host}`, host, 'host')
})

test('tenants: suspended with a reason, and resumed', async () => {
  await see('/tenants', 'Tenants', 'tenants')
  await page.getByRole('link', { name: slug, exact: true }).click()
  await page.getByRole('button', { name: 'Suspend…' }).click()
  await page.getByLabel(/^Reason/).fill(hostile)
  await page.getByRole('button', { name: 'Suspend', exact: true }).click()
  await page.getByText(`suspended: ${hostile}`).waitFor()
  await see(`/tenants/${slug}`, slug, 'tenant')
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Resume…' }).click()
  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  await page.getByRole('button', { name: 'Suspend…' }).waitFor()
  await see('/limits', 'Budgets', 'budgets')
})

test('a dialog that was opened for one box does not ask about another one', async () => {
  const other = stage.fleet.boxes[1]?.slug ?? ''
  const dialog = page.getByRole('alertdialog')
  await page.goto(`${stage.url}/console/boxes/${other}`)
  await page.getByRole('button', { name: 'Enter maintenance…' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('searchbox', { name: 'Page, box or tenant' }).fill(slug)
  await page.getByRole('menuitem', { name: `${slug} box on`, exact: false }).click()
  await page.getByRole('heading', { level: 1, name: slug }).waitFor()
  await page.getByRole('button', { name: 'Enter maintenance…' }).click()
  await dialog.getByText(`Enter maintenance on ${slug}?`).waitFor()
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: other, includeHidden: true }).waitFor()
  expect(await dialog.count()).toBe(0)
})

test('boards: the graph of a board with the findings of its check', async () => {
  await see(`/boards?tenant=${slug}`, 'Flow boards', 'boards')
  await assertAccessible(page)
  await see(`/boards/${slug}/${boardId}`, /./, 'board')
  await page.locator('.react-flow__node').first().waitFor()
  await assertAccessible(page)
  await screenshots(page, 'board')
})

/** A run with so many steps, as the daemon answers; its board is `boardId`. */
async function aLongRun(seq: number): Promise<string> {
  const at = '2026-01-05T02:00:00.000Z'
  const run = {
    ...{ id: 'run_long', boardId, boardName: 'Crisis', boardVersion: 1, spaceId: 'spc_4b', spaceName: 'Class 4b', status: 'waiting' },
    ...{ trigger: 'manual', activeColumnId: null, activeColumnIds: [], activeElementIds: ['alarm'], seq, failure: null, startedAt: at },
    ...{ completedAt: null, slaDeadline: null, slaWarningAt: null, doneElementIds: [], undelivered: [] },
  }
  const path = `**/api/admin/v1/tenants/${slug}/runs/${run.id}`
  await page.route(path, (route) => route.fulfill({ json: run }))
  await page.route(`${path}/history?*`, (route) => {
    const query = new URL(route.request().url()).searchParams
    const first = Number(query.get('cursor') ?? 0) + 1
    const count = Math.min(Number(query.get('limit')), seq - first + 1)
    const entries = Array.from({ length: count }, (_, nth) => ({ seq: first + nth, at, type: 'submit', elementId: `step-${first + nth}` }))
    return route.fulfill({ json: { entries, nextCursor: null } })
  })
  return run.id
}

test('runs: the space by its name, and older steps page by page', async () => {
  const id = await aLongRun(450)
  await see(`/runs/${slug}/${id}`, 'Crisis', 'run')
  await page.getByTitle('spc_4b').getByText('Class 4b').waitFor()
  const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem')
  await page.getByText('step-251', { exact: false }).waitFor()
  await page.getByRole('button', { name: 'Show older steps' }).scrollIntoViewIfNeeded()
  await assertAccessible(page)
  await screenshots(page, 'run-steps')
  const shown = [await steps.count()]
  for (const oldest of ['step-51', 'step-1']) {
    await page.getByRole('button', { name: 'Show older steps' }).click()
    await steps.last().getByText(`submit · ${oldest}`, { exact: true }).waitFor()
    shown.push(await steps.count())
  }
  expect(shown).toEqual([200, 400, 450])
  expect(await page.getByRole('button', { name: 'Show older steps' }).count()).toBe(0)
})

test('marketplace: a submission is read as text and sent back', async () => {
  await see('/marketplace', 'Marketplace', 'marketplace')
  await see('/marketplace/vendors', 'Vendors', 'vendors')
  await see('/marketplace/submissions', 'Submissions', 'submissions')
  await assertAccessible(page)
  await see(`/marketplace/submissions/${submissionId}`, `Visitors ${hostile}`, 'submission')
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Request changes…' }).click()
  await page.getByLabel(/^Reason/).fill('Describe what it does')
  await page.getByRole('button', { name: 'Request changes', exact: true }).click()
  await page.getByText('needs changes').waitFor()
})

test('modules, reviews, billing, jobs, schedules, webhooks and the audit log answer their question', async () => {
  await see('/modules', 'Modules', 'modules')
  await see('/reviews', 'Reviews', 'reviews')
  await see('/billing', 'Billing', 'billing')
  await see('/jobs', 'Jobs', 'jobs')
  await see('/crons', 'Schedules', 'schedules')
  await see('/crons/tenant-box-drift-detection', 'tenant-box-drift-detection', 'schedule')
  await page.getByRole('button', { name: 'Run now…' }).click()
  await page.getByRole('button', { name: 'Run now', exact: true }).click()
  await page.getByText(/^succeeded in/).waitFor()
  await see('/webhooks', 'Payment events', 'webhooks')
  await see('/audit', 'Audit log', 'audit')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText(/chains? verified/).waitFor()
})

test('modules: the health of one over the last hour', async () => {
  const from = (step: number) => new Date(Date.parse('2026-01-05T02:00:00.000Z') + step * 300_000).toISOString()
  const performance = { p95Ms: 50, p99Ms: 500, errorRate: 0.1, violations: [{ kind: 'permission', count: 2 }], healthy: false }
  const quiet = { runs: 0, p95Ms: 0, p99Ms: 0, errorRate: 0 }
  const busy = { runs: 40, p95Ms: 50, p99Ms: 500, errorRate: 0.1 }
  const history = Array.from({ length: 12 }, (_, step) => ({ ...(step < 9 ? quiet : busy), from: from(step) }))
  const health = { moduleId: 'attendance', name: 'Attendance', version: '1.0.0', activeInstallations: 3, performance }
  await page.route('**/api/admin/modules/health/attendance', (route) => route.fulfill({ json: { ...health, history } }))
  await page.goto(`${stage.url}/console/modules/attendance`)
  await page.getByText('unhealthy in the last hour').waitFor()
  expect(await page.getByRole('table', { name: 'Last hour' }).getByRole('row').count()).toBe(13)
  await page.getByText('permission 2').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'module')
})

test('a viewer reads all of it and presses nothing', async ({ browser }) => {
  const viewer = await openPage(browser)
  await logIn(viewer, stage, await anAccountOf(stage, 'viewer'), '/hosts')
  await viewer.getByRole('heading', { level: 1, name: 'Hosts' }).waitFor()
  await hover(viewer.getByRole('button', { name: 'Invite host', disabled: true }))
  await viewer.getByText('This requires the role operator; you are viewer.').waitFor()
  assertClean(viewer)
})

test('no page broke the policy or failed', () => assertClean(page))
