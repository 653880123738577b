import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { liveRollout } from './console-rollout.js'
import { startDaemon, wait } from './daemon-process.js'
import { sized } from './size.js'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const [mostBytes, mostLoadMs, mostFrameMs] = [150 * 1024, 1000, 50]
const mostShare = 0.3
const boxes = sized(10_000, 20)
/** The least of so many runs: another process may take the core in the middle of a task. */
const scrolls = sized(3, 1)
const built = new URL('../dist/console/', import.meta.url)

/** Compressed JavaScript of the entry and of all that it imports without being asked to. */
function firstLoadBytes() {
  const folder = new URL('assets/', built)
  const [, entry] = /src="\/console\/assets\/([^"]+)"/.exec(readFileSync(new URL('index.html', built), 'utf8'))
  const found = new Set()
  const add = (name) => {
    if (found.has(name)) return
    found.add(name)
    const text = readFileSync(new URL(name, folder), 'utf8')
    for (const [, imported] of text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)) add(imported)
  }
  add(entry)
  const overview = readdirSync(folder).find((name) => name.startsWith('overview-page'))
  if (overview) add(overview)
  return [...found].reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length, 0)
}

const versions = { migrationsHead: '0000', postgres: '15.18', synapse: '1.163.2', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const now = new Date().toISOString()
const rows = Array.from({ length: boxes }, (_, n) => ({
  ...{
    boxId: `box_${n}`,
    slug: `school-${String(n).padStart(5, '0')}`,
    tenant: `School ${n}`,
    plan: 'pro',
    tier: 'pro',
    host: `host-${n % 1000}`,
  },
  ...{ hostOnline: true, status: 'ready', live: true, managed: true, canary: false, fenced: false, installed: versions, severity: 'none' },
  ...{ components: {}, last_drift_check_at: now, reportedAt: now, reportAgeMs: 0, freshness: 'fresh', heldBy: null, heldUntil: null },
  ...{ maintenance: null, fenceOverdue: false, moving: null },
}))

/** Answers the list of boxes in the browser: what is measured is the page. */
const answerBoxes = (route) => {
  const query = new URL(route.request().url()).searchParams
  const [from, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit'))]
  const next = from + limit
  return route.fulfill({ json: { boxes: rows.slice(from, next), nextCursor: next < rows.length ? String(next) : null } })
}

/** Scrolls by 200 px a frame, six rows, for four seconds; answers the longest main-thread task between two frames. */
const scroll = `new Promise((done) => {
  const table = document.querySelector('[role=table]')
  let longest = 0
  new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) longest = Math.max(longest, duration) }).observe({ type: 'longtask' })
  const began = performance.now()
  const step = () => {
    table.scrollTop += 200
    if (performance.now() - began < 4000) requestAnimationFrame(step)
    else setTimeout(() => done(longest), 200)
  }
  requestAnimationFrame(step)
})`

/** The web console in Debian's Chromium: what it loads, what its first page costs, and how a long list scrolls. */
export async function webConsole() {
  const bytes = firstLoadBytes()
  const load = {
    what: 'web console: compressed JavaScript of the first page',
    measured: `${(bytes / 1024).toFixed(0)} KiB`,
    reach: `under ${mostBytes / 1024} KiB`,
    ok: bytes < mostBytes,
  }
  if (!existsSync(executablePath)) return [load, { what: 'web console in Chromium', measured: 'no chromium', reach: '' }]
  const daemon = await startDaemon(8497, { settings: { TENANTRY_ADMIN_REQUIRE_TOTP: 'false' } })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await page.route('**/api/admin/v1/boxes?**', answerBoxes)
    await page.goto(`${daemon.url}/console/`)
    await page.getByLabel('Name').fill('anna')
    await page.getByLabel('Password').fill(daemon.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    await page.goto(`${daemon.url}/console/`)
    await page.getByText('No boxes yet.').waitFor()
    const { metrics } = await session.send('Performance.getMetrics')
    const taskMs = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
    await page.goto(`${daemon.url}/console/boxes`)
    await page.getByText(`${boxes} boxes`).first().waitFor()
    await wait(500)
    const tries = []
    for (let n = 0; n < scrolls; n++) tries.push(await page.evaluate(scroll))
    const longest = Math.min(...tries)
    const live = await liveRollout(page, daemon.url)
    return [
      load,
      {
        what: 'web console: main thread until the overview is shown',
        measured: `${taskMs.toFixed(0)} ms`,
        reach: `under ${mostLoadMs} ms`,
        ok: taskMs < mostLoadMs,
      },
      {
        what: 'web console: longest task while 10,000 boxes scroll',
        measured: longest === 0 ? 'none over 50 ms' : `${longest.toFixed(0)} ms`,
        reach: `under ${mostFrameMs} ms`,
        ok: longest < mostFrameMs,
      },
      {
        what: `web console: main thread while a rollout of 1,000 boxes sends ${live.perSecond.toFixed(0)} events a second`,
        measured: `${(100 * live.share).toFixed(0)} %`,
        reach: `under ${100 * mostShare} %`,
        ok: live.share < mostShare,
      },
    ]
  } finally {
    await browser.close()
    daemon.close()
  }
}
