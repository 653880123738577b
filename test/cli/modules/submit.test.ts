import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { problemAnswer, stubUrl, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { usableDatabase } from '../../support/databases.ts'
import { aPackage, aStoreWorld } from '../../support/store-world.ts'

const loginsIn = (configFolder: string) => join(configFolder, 'tenantry', 'logins.json')
const userLogin = 'POST /api/auth/v1/login'
const session = {
  token: 'jwt',
  expiresIn: 86_400,
  matrixAccessToken: '',
  matrixUserId: '@anna:chat.linden.example',
  homeserver: 'h',
}

test('a user of a tenant logs in beside the operator, without a device in the chat', async () => {
  const configFolder = await temporaryFolder()
  const line = ['login', '--name', 'anna', '--password-file', '-', '--tenant']
  const login = (tenant: string) => tenantry([...line, tenant], { answers: { [userLogin]: session }, stdin: 'pw\n', configFolder })
  const ran = await login('linden')
  expect([ran.exit, ran.stdout]).toEqual([
    0,
    'Logged in as @anna:chat.linden.example (tenant linden); the session expires 2026-01-06 02:00:00 UTC (in 1 d).\n',
  ])
  expect(ran.asked[0]?.body).toMatchObject({ tenant: 'linden', username: 'anna', password: 'pw', chat: false })
  expect((await login('https://chat.linden.example')).asked[0]?.body).toMatchObject({ tenant: 'chat.linden.example' })
  const text = await readFile(loginsIn(configFolder), 'utf8')
  expect(JSON.parse(text)).toMatchObject({ last: stubUrl, logins: {}, users: { [stubUrl]: { token: 'jwt' } } })
  expect((await stat(loginsIn(configFolder))).mode & 0o777).toBe(0o600)
  const logout = await tenantry(['logout', '--tenant'], { answers: { 'POST /api/auth/v1/logout': undefined }, configFolder })
  expect([logout.stdout, logout.asked[0]?.headers.get('authorization')]).toEqual([`Logged out of ${stubUrl}.\n`, 'Bearer jwt'])
})

test('a user without the capability learns that an operator grants a role for it', async () => {
  const configFolder = await temporaryFolder()
  await mkdir(join(configFolder, 'tenantry'))
  const ben = { token: 'jwt', name: 'ben', expiresAt: '2027-01-01T00:00:00.000Z', tenant: 'linden' }
  await writeFile(loginsIn(configFolder), JSON.stringify({ last: stubUrl, logins: {}, users: { [stubUrl]: ben } }), { mode: 0o600 })
  const message = 'This requires the capability manageModules; none of your roles grants it.'
  const refusal = problemAnswer(403, { code: 'FORBIDDEN', message, retryable: false })
  const answers = { 'POST /api/platform/v1/store/developer/register': refusal }
  const ran = await tenantry(['modules', 'register', '--email', 'b@b.example', '--name', 'Ben', '--organization', 'B'], {
    answers,
    configFolder,
  })
  expect(ran.stderr).toContain('next:  ask an operator for a role that grants it: tenantry users roles <tenant> <user> <role>')
})

test('without a login, the fix names the command', async () => {
  const ran = await tenantry(['modules', 'submit', 'x.zip'])
  expect([ran.exit, ran.asked]).toEqual([2, []])
  expect(ran.stderr).toContain('tenantry login --tenant <slug>')
})

test('register, submit, review, approve and reject from the command line', async () => {
  const { db } = await usableDatabase()
  const room = await aStoreWorld(db)
  const configFolder = await temporaryFolder()
  await mkdir(join(configFolder, 'tenantry'))
  const login = (token: string) => ({ token, name: token, expiresAt: '2027-01-01T00:00:00.000Z' })
  const saved = { last: room.url, logins: { [room.url]: login('root') }, users: { [room.url]: { ...login('anna'), tenant: 'acme' } } }
  await writeFile(loginsIn(configFolder), JSON.stringify(saved), { mode: 0o600 })
  const run = (...line: string[]) => tenantry(line, { url: room.url, configFolder })

  const { code } = JSON.parse((await run('reviews', 'invite', '--json')).stdout)
  const file = join(configFolder, 'attendance-0.1.0.zip')
  const coloured = '\u001b[31mred'
  await writeFile(file, (await aPackage({ files: { 'README.md': `# Attendance\n${coloured}\n` } })).zip)
  expect((await run('modules', 'submit', file)).stderr).toContain('tenantry modules register')
  const account = ['--email', 'anna@example.org', '--name', 'Anna', '--organization', 'Acme']
  const registered = await run('modules', 'register', ...account, '--code', code)
  expect(registered.stdout).toMatch(/developer +dev_/)
  expect((await run('modules', 'submit', join(configFolder, 'none.zip'))).stderr).toContain('tenantry modules pack')
  const submitted = await run('modules', 'submit', file, '--json')
  expect(submitted.stderr).toBe('')
  const { submissionId } = JSON.parse(submitted.stdout)

  expect((await run('reviews', 'list')).stdout).toMatch(new RegExp(`${submissionId} +attendance +0.1.0 +Anna +no +OK`))
  const shown = (await run('reviews', 'show', submissionId)).stdout
  for (const part of ['attendance 0.1.0', '+ file index.js', '    3    async (svc) => {', 'tenantry reviews approve'])
    expect(shown).toContain(part)
  expect(shown).not.toContain('\u001b')
  expect((await run('reviews', 'reject', submissionId)).exit).toBe(2)
  expect((await run('reviews', 'reject', submissionId, '--notes', 'no')).stdout).toContain('is rejected')
  expect((await run('reviews', 'list')).stdout).toBe('No submissions await a review.\n')
  const again = JSON.parse((await run('modules', 'submit', file, '--json')).stdout)
  expect((await run('reviews', 'approve', again.submissionId)).stdout).toContain('is approved')
  const developer = JSON.parse(await readFile(loginsIn(configFolder), 'utf8')).users[room.url].developerId as string
  expect((await run('reviews', 'verify', developer)).stdout).toContain('is verified')
  expect((await run('reviews', 'verify', developer, '--remove')).stdout).toContain('is not verified')
})
