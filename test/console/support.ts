import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Browser, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { AdminRole } from '../../src/core/contract/index.ts'
import { createAccountWithPassword } from '../../src/daemon/admin/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { simulatedFleet } from '../../src/demo/fleet.ts'
import { enrolHosts, freePort, openStage, provisionFleet, type Stage, simulatedAgents } from '../../src/demo/stage.ts'
import { systemClock, systemRandom } from '../../src/node/index.ts'

// A real daemon with simulated hosts, and Debian's Chromium before it.

/** Empty: none, where nobody looks at them. */
const screenshotFolder = process.env.CONSOLE_SCREENSHOTS ?? '.tenantry/console-screenshots'

/** Threads run compiled code alone. */
const rehearsalWorker = pathToFileURL(resolve('dist/rehearsal/worker.js'))

/** So many boxes of the demo's fleet; `tenantName`: the name of every tenant; `port`: of the daemon. */
type FleetOptions = Readonly<{ boxes?: number; env?: Record<string, string>; tenantName?: string; port?: number }>

export type ConsoleStage = Stage & Readonly<{ fleet: typeof simulatedFleet }>

/** A daemon, its simulated hosts online and its boxes provisioned on the old version; the manifest has the new one. */
export async function openConsoleStage({ boxes = 6, env = {}, tenantName, port }: FleetOptions = {}): Promise<ConsoleStage> {
  const stage = await openStage(port ?? (await freePort(0)), { ...simulatedFleet.env, ...env }, rehearsalWorker)
  const stop = new AbortController()
  const chosen = simulatedFleet.boxes.filter(({ slug, canary }) => canary || slug === simulatedFleet.unlucky)
  const fleet = { ...simulatedFleet, boxes: [...chosen, ...simulatedFleet.boxes.filter((box) => !chosen.includes(box))].slice(0, boxes) }
  const names = simulatedFleet.hosts.filter((host) => fleet.boxes.some((box) => box.host === host))
  const running: Promise<void>[] = []
  const startAgent = simulatedAgents(simulatedFleet)
  await enrolHosts(
    stage,
    {
      names,
      startAgent: (agent) => {
        const ended = startAgent(agent)
        running.push(ended)
        return ended
      },
    },
    stop.signal,
  )
  await stage.api.boxes.applyManifest({ body: { manifest: fleet.before } })
  const named = fleet.boxes.map((box) => ({ ...box, name: tenantName ?? box.name }))
  await provisionFleet(stage, { boxes: named, onReady: () => undefined }, stop.signal)
  await stage.api.boxes.applyManifest({ body: { manifest: fleet.after } })
  const close = async () => {
    stop.abort()
    await Promise.allSettled([stage.close(), ...running])
    await stage.removeFiles()
  }
  return { ...stage, fleet, close }
}

/** An account of that role with a password, in the database of the daemon. */
export async function anAccountOf(stage: Stage, role: AdminRole): Promise<Readonly<{ name: string; password: string }>> {
  const { db, close } = openDatabase(`sqlite:${join(stage.folder, 'daemon', 'tenantry.db')}`)
  const account = { name: `the-${role}`, password: randomBytes(12).toString('base64url') }
  const deps = { db, clock: systemClock, random: systemRandom }
  await createAccountWithPassword(deps, { kind: 'system', name: 'test' }, { ...account, role })
  await close()
  return account
}

type Seen = { violations: string[]; errors: string[] }
export type ConsolePage = Page & Readonly<{ seen: Seen }>

/** The browser reports each refused call; a test that expects one names it. */
const expected = /Failed to load resource/

/** A page that records violations of the content security policy and errors in its console. `assertClean` fails on any. */
export async function openPage(browser: Browser, options: Parameters<Browser['newContext']>[0] = {}): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: 'Europe/Berlin', ...options })
  const page = await context.newPage()
  // Beside other tests a page may take longer than the 30 s of the default.
  page.setDefaultTimeout(120_000)
  const seen: Seen = { violations: [], errors: [] }
  await page.exposeFunction('reportViolation', (text: string) => void seen.violations.push(text))
  await page.addInitScript({
    content: `addEventListener('securitypolicyviolation', (e) => reportViolation(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile))`,
  })
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) seen.errors.push(message.text())
  })
  page.on('pageerror', (error) => {
    if (!expected.test(String(error))) seen.errors.push(String(error))
  })
  return Object.assign(page, { seen })
}

/** No violation of the policy, no error of the page since the last call. */
export function assertClean({ seen }: ConsolePage): void {
  const { violations, errors } = seen
  expect({ violations: violations.splice(0), errors: errors.splice(0) }).toEqual({ violations: [], errors: [] })
}

/** Logs in by the form and waits for the navigation. */
export async function logIn(
  page: Page,
  { url }: Pick<Stage, 'url'>,
  { name, password }: Readonly<{ name: string; password: string }>,
  path = '/',
): Promise<void> {
  await page.goto(`${url}/console${path}`)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}

/** As a person comes: a pointer that was never seen to move does not enter. */
export async function hover(target: Locator): Promise<void> {
  await target.page().mouse.move(1, 1)
  await target.hover()
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** No accessibility violation of any impact, in light and in dark. Only colours differ in dark, and they do not depend on the width. */
export async function assertAccessible(page: Page, { inDark = true } = {}): Promise<void> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axeSource)
  await assertNoViolations(page, 'light', {})
  if (inDark) await assertNoViolations(page, 'dark', { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } })
}

async function assertNoViolations(page: Page, theme: Theme, rules: RunOptions): Promise<void> {
  await setTheme(page, theme)
  await page.evaluate(settleAnimations)
  // Preloading copies a style sheet that is still loading into the page, which the policy refuses.
  const options = JSON.stringify({ preload: false, resultTypes: ['violations'], ...rules })
  const violations = (await page.evaluate(`axe.run(${options}).then(({ violations }) => violations)`)) as AxeResults['violations']
  const found = violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${theme} ${id} (${impact}): ${html} ${failureSummary}`),
  )
  expect(found.join('\n')).toBe('')
}

/** A dialog that is still opening does not cover the page yet, and axe then takes the page behind it for the whole. */
const settleAnimations = `Promise.all(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
  .map(({ finished }) => finished.catch(() => undefined)))`

const themes = ['light', 'dark'] as const
type Theme = (typeof themes)[number]

const setTheme = (page: Page, theme: Theme): Promise<unknown> => page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)

/** `<name>-light.png` and `<name>-dark.png`, for people to look at; `narrow` too where a phone is to do. */
export async function screenshots(page: Page, name: string, { narrow = false } = {}): Promise<void> {
  if (screenshotFolder === '') return
  await mkdir(screenshotFolder, { recursive: true })
  const size = page.viewportSize()
  for (const theme of themes) {
    await setTheme(page, theme)
    await page.screenshot({ path: join(screenshotFolder, `${name}-${theme}.png`) })
    if (!narrow) continue
    await page.setViewportSize({ width: 390, height: 844 })
    await page.screenshot({ path: join(screenshotFolder, `${name}-narrow-${theme}.png`) })
    if (size) await page.setViewportSize(size)
  }
}
