import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { execa } from 'execa'
import { expect } from 'vitest'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { freePort } from '../../src/demo/stage.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { closePages, test } from './browser.ts'
import { assertAccessible, assertClean, type ConsolePage, type ConsoleStage, openConsoleStage, openPage, screenshots } from './support.ts'

// A person logs in to the console, and then to a command line, with an account of a real provider of OpenID Connect.

const secret = 'a-secret-of-this-test-that-is-long-enough'

let stage: ConsoleStage
let page: ConsolePage
let server: Server
let folder: string

/** The person types any name; all are in one group. */
async function startProvider(port: number, daemonUrl: string): Promise<Server> {
  const { stdout: installed } = await execa('bash', ['test/testbed/oidc-provider.sh'])
  const { default: Provider } = await import(pathToFileURL(join(installed, 'node_modules/oidc-provider/lib/index.js')).href)
  const claimsOf = (sub: string) => ({ sub, email: `${sub}@school.example`, groups: ['tenantry-operators'] })
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: 'tenantry',
        client_secret: secret,
        redirect_uris: [`${daemonUrl}/console/login/provider`],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    cookies: { keys: ['a key of this test'] },
    claims: { openid: ['sub'], email: ['email'], groups: ['groups'] },
    pkce: { required: () => true },
    findAccount: async (_: unknown, id: string) => ({ accountId: id, claims: async () => claimsOf(id) }),
  })
  const started = createServer(provider.callback()).listen(port, '127.0.0.1')
  await once(started, 'listening')
  return started
}

test.beforeAll(async ({ browser }) => {
  const port = await freePort(0)
  const env = {
    TENANTRY_ADMIN_OIDC_ISSUER: `http://127.0.0.1:${port}`,
    TENANTRY_ADMIN_OIDC_CLIENT_ID: 'tenantry',
    TENANTRY_ADMIN_OIDC_CLIENT_SECRET: secret,
    TENANTRY_ADMIN_OIDC_NAME: 'Example ID',
    TENANTRY_ADMIN_OIDC_SCOPES: 'openid,email,groups',
    TENANTRY_ADMIN_OIDC_ROLES_OPERATOR: 'tenantry-operators',
  }
  stage = await openConsoleStage({ boxes: 1, env })
  server = await startProvider(port, stage.url)
  page = await openPage(browser)
  folder = await mkdtemp(join(tmpdir(), 'company-login-'))
})
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await stage?.close()
  server?.close()
  server?.closeAllConnections()
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** The forms of the provider: its login, and once its consent. */
async function logInAtProvider(name: string, { consents = false } = {}): Promise<void> {
  await page.locator('input[name=login]').fill(name)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  if (consents) await page.getByRole('button', { name: 'Continue' }).click()
}

/** `tenantry login --browser` on a machine of its own, and the page that it names. */
async function aCommandLine() {
  const env = { XDG_CONFIG_HOME: folder, TENANTRY_URL: stage.url, TENANTRY_TOKEN: '' }
  const running = execa(process.execPath, [resolve('bin/tenantry.js'), 'login', '--browser'], { env })
  let said = ''
  running.stderr.on('data', (chunk) => {
    said += chunk
  })
  await expect.poll(() => said).toMatch(/code: [A-Z-]{9}/)
  return { running, address: /http\S+/.exec(said)?.[0] ?? '', code: /code: (\S+)/.exec(said)?.[1] ?? '' }
}

test.skipIf(!testbedExists())('an operator logs in to console and command line with the company account', async () => {
  await page.goto(`${stage.url}/console/boxes`)
  await page.getByRole('button', { name: 'Log in with your Example ID' }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'login-company', { narrow: true })
  await page.getByRole('button', { name: 'Log in with your Example ID' }).click()
  await logInAtProvider('anna', { consents: true })
  await page.getByRole('heading', { level: 1, name: 'Boxes' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/console/boxes')
  const { accounts } = await stage.api.admin.listAccounts()
  expect(accounts.find(({ name }) => name === 'anna@school.example')).toMatchObject({ role: 'operator', login: 'provider' })
  assertClean(page)

  const first = await aCommandLine()
  await page.goto(first.address)
  await page.getByText(first.code, { exact: true }).waitFor()
  await assertAccessible(page)
  await screenshots(page, 'login-cli', { narrow: true })
  await page.getByRole('button', { name: 'Approve the login' }).click()
  await page.getByText(/^Approved\./).waitFor()
  expect((await first.running).stdout).toMatch(/^Logged in as anna@school\.example \(operator\)/)

  // An hour later the proof is old: the provider asks for the password again.
  const { db, close } = openDatabase(`sqlite:${join(stage.folder, 'daemon', 'tenantry.db')}`)
  await db.updateTable('admin_sessions').set({ proven_at: '2026-01-01T00:00:00.000Z' }).execute()
  await close()
  const second = await aCommandLine()
  await page.goto(second.address)
  await page.getByRole('button', { name: 'Approve the login' }).click()
  await page.getByRole('alertdialog').waitFor()
  await assertAccessible(page)
  await screenshots(page, 'login-prove', { narrow: true })
  await page.getByRole('button', { name: 'Log in again with your Example ID' }).click()
  await logInAtProvider('anna')
  await page.getByRole('button', { name: 'Approve the login' }).click()
  await page.getByText(/^Approved\./).waitFor()
  expect((await second.running).exitCode).toBe(0)
  assertClean(page)
})
