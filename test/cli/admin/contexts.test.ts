import { expect, test } from 'vitest'
import { type Answers, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const account = { id: 'acc_0123456789abcdefghjk', name: 'anna', role: 'admin' }
const answers: Answers = {
  'POST /api/admin/v1/login': { token: 'jwt', expiresAt: at('14:00:00'), account, setup: [] },
  'GET /api/admin/v1/whoami': { account, sessionId: null, token: null, expiresAt: at('14:00:00'), setup: [], totp: true },
  'GET /api/admin/v1/hosts': { hosts: [] },
  'POST /api/admin/v1/logout': undefined,
}
const [one, two] = ['https://one.example', 'https://two.example']

async function loggedIn() {
  const configFolder = await temporaryFolder()
  const run = (...line: string[]) => tenantry(line, { answers, stdin: 'pw', configFolder })
  for (const url of [one, two]) await run('login', '--name', 'anna', '--password-file', '-', '--url', url)
  return run
}

test('contexts lists the daemons with a login, and use chooses the default', async () => {
  const run = await loggedIn()
  expect((await run('contexts', 'list')).stdout).toMatch(/one\.example +- .*\n.*two\.example +yes/)
  expect((await run('contexts', 'use', 'one.example')).stdout).toBe(`Commands go to ${one} now.\n`)
  expect((await run('whoami')).exit).toBe(0)
  expect(JSON.parse((await run('contexts', 'list', '--json')).stdout).contexts[0]).toMatchObject({ address: one, current: true })
})

test('contexts remove deletes a login without a call', async () => {
  const run = await loggedIn()
  expect((await run('contexts', 'rm', two)).asked).toEqual([])
  expect((await run('contexts', 'ls', '-q')).stdout).toBe(`${one}\n`)
})

test('an address without a login is refused', async () => {
  const run = await loggedIn()
  const refused = await run('contexts', 'use', 'three.example')
  expect([refused.exit, refused.stderr.includes('tenantry contexts list')]).toEqual([3, true])
})

test('after a logout the next login goes to the same daemon', async () => {
  const run = await loggedIn()
  await run('logout')
  expect((await run('logout')).stdout).toBe(`Not logged in to ${two}.\n`)
  expect((await run('contexts', 'ls', '-q')).stdout).toBe(`${one}\n`)
})
