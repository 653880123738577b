import { readFileSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { countOutcomes, type ImportLine, type ImportReport, type User } from '../../../src/core/users/index.ts'
import { problemAnswer, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/tenants/acme/users'
const aUser = (given: Partial<User> = {}): User => ({
  id: 'usr_1',
  tenant: 'acme',
  localpart: 'anna',
  matrixUserId: '@anna:chat.acme.example',
  displayName: 'Anna\u001b[31m',
  locale: 'de',
  avatarUrl: null,
  email: null,
  roles: ['teacher', 'member'],
  status: 'active',
  createdAt: at('01:00:00'),
  updatedAt: at('01:00:00'),
  passwordUnknownSince: null,
  ...given,
})

test('list is a table without control characters, and --json the API response', async () => {
  const answers = { [`GET ${base}`]: { users: [aUser()], nextCursor: 'anna' } }
  const { stdout } = await tenantry(['users', 'list', 'acme'], { answers, columns: 120, env: { NO_COLOR: '1' } })
  expect(stdout).toMatch(/anna +Anna\ufffd\[31m +teacher, member +active/)
  expect(stdout).toContain('--cursor anna')
  expect(JSON.parse((await tenantry(['users', 'list', 'acme', '--json'], { answers })).stdout)).toEqual(answers[`GET ${base}`])
})

test('an empty list suggests a new user only where nothing was filtered', async () => {
  const answers = { [`GET ${base}`]: { users: [], nextCursor: null } }
  const filtered = await tenantry(['users', 'list', 'acme', '--without-password'], { answers })
  expect(filtered.stdout).toBe('No users match. All users: tenantry users list acme\n')
  expect((await tenantry(['users', 'list', 'acme'], { answers })).stdout).toContain('Create one: `tenantry users create`')
})

test('create shows a generated password once, and reports an existing account', async () => {
  const made = { user: aUser(), chat: 'created', password: 'abcd-efgh-ijkl-mnop' }
  const ran = await tenantry(['users', 'create', 'acme', 'anna', '--name', 'Anna', '--role', 'teacher,member'], {
    answers: { [`POST ${base}`]: made },
  })
  expect(ran.asked[0]?.body).toEqual({ localpart: 'anna', displayName: 'Anna', roles: ['teacher', 'member'] })
  expect(ran.stdout).toContain('abcd-efgh-ijkl-mnop')
  const found = await tenantry(['users', 'create', 'acme', 'anna'], {
    answers: { [`POST ${base}`]: { ...made, chat: 'existed', password: null } },
  })
  expect(found.stdout).toContain('its password is unchanged')
  const given = await tenantry(['users', 'create', 'acme', 'anna', '--password-file', '-'], {
    answers: { [`POST ${base}`]: made },
    stdin: 'from stdin\n',
  })
  expect(given.asked[0]?.body).toEqual({ localpart: 'anna', password: 'from stdin' })
})

test('erase needs the name of the user or --yes, and prints how to run it again', async () => {
  const answers = { [`POST ${base}/anna/erase`]: aUser({ status: 'erased', displayName: null, roles: [] }) }
  const asked = await tenantry(['users', 'erase', 'acme', 'anna'], { answers: { ...answers, [`GET ${base}/anna`]: aUser() } })
  expect([asked.exit, asked.asked.map(({ method }) => method)]).toEqual([2, ['GET']]) // without a terminal
  const ran = await tenantry(['users', 'erase', 'acme', 'anna', '--yes'], { answers })
  expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('@anna:chat.acme.example erased; its sessions ended.')])
  expect(ran.stdout).toContain('tenantry users erase acme anna')
  const json = await tenantry(['users', 'erase', 'acme', 'anna', '--yes', '--json'], { answers })
  expect(JSON.parse(json.stdout)).toMatchObject({ localpart: 'anna', status: 'erased' })
})

test('roles, disable and enable name the user', async () => {
  const one = `${base}/anna`
  const ran = await tenantry(['users', 'roles', 'acme', 'anna', 'teacher', 'staff'], { answers: { [`PATCH ${one}`]: aUser() } })
  expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { roles: ['teacher', 'staff'] }])
  const shut = ['users', 'disable', 'acme', 'anna', '--reason', 'left']
  expect((await tenantry(shut, { answers: { [`GET ${one}`]: aUser() } })).exit).toBe(2) // without a terminal
  const off = await tenantry([...shut, '--yes'], { answers: { [`POST ${one}/disable`]: aUser({ status: 'disabled' }) } })
  expect([off.exit, off.asked[0]?.body]).toEqual([0, { reason: 'left' }])
  expect((await tenantry(['users', 'enable', 'acme', 'anna'], { answers: { [`POST ${one}/enable`]: aUser() } })).exit).toBe(0)
})

test('reset-password shows a generated password once, takes one from a file, and prompts', async () => {
  const reset = { user: aUser(), chat: 'reset', password: 'abcd-efgh-ijkl-mnop' }
  const answers = { [`POST ${base}/anna/reset-password`]: reset }
  const command = ['users', 'reset-password', 'acme', 'anna']
  expect((await tenantry(command, { answers: { ...answers, [`GET ${base}/anna`]: aUser() } })).exit).toBe(2) // without a terminal
  const ran = await tenantry([...command, '--yes'], { answers })
  expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { logOutDevices: false }])
  expect(ran.stdout).toContain('abcd-efgh-ijkl-mnop')
  const given = await tenantry([...command, '--password-file', '-', '--log-out-devices', '--yes'], {
    answers: { [`POST ${base}/anna/reset-password`]: { ...reset, chat: 'created', password: null } },
    stdin: 'from stdin\n',
  })
  expect(given.asked[0]?.body).toEqual({ logOutDevices: true, password: 'from stdin' })
  expect(given.stdout).toContain('did not exist on the chat server')
})

test('a user without a known password is marked in list and show', async () => {
  const user = aUser({ passwordUnknownSince: at('02:00:00') })
  const answers = { [`GET ${base}`]: { users: [user], nextCursor: null }, [`GET ${base}/anna`]: user }
  const listed = await tenantry(['users', 'list', 'acme', '--without-password'], { answers, columns: 120 })
  expect(listed.asked[0]?.search).toBe('?withoutPassword=true')
  expect((await tenantry(['users', 'list', 'acme', '--old-password'], { answers })).asked[0]?.search).toBe('?oldPassword=true')
  expect(listed.stdout).toContain('active, no password')
  expect((await tenantry(['users', 'show', 'acme', 'anna'], { answers })).stdout).toContain('`tenantry users reset-password acme anna`')
})

describe('import', () => {
  const line = (number: number, localpart: string, outcome: ImportLine['outcome'], reason: string | null = null): ImportLine => ({
    line: number,
    localpart,
    displayName: null,
    outcome,
    reason,
  })
  const aReport = (lines: ImportLine[], given: Partial<ImportReport> = {}): ImportReport => {
    const counts = countOutcomes(lines)
    return { dryRun: false, lines, counts, notes: [], passwords: {}, nextLine: null, stopped: null, ...given }
  }
  const looked = aReport([line(2, 'anna', 'would_create'), line(3, 'ben', 'would_create'), line(4, 'admin', 'refused', '=reserved')], {
    dryRun: true,
  })
  const atOnce = { ...manualClock(), sleep: async () => undefined }
  const aFile = async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'users.csv'), 'username\nanna\nben\nadmin\n')
    return { folder, users: join(folder, 'users.csv'), passwords: join(folder, 'passwords.csv'), report: join(folder, 'report.csv') }
  }
  const importing = (answers: (body: { dryRun: boolean; fromLine: number }) => unknown) => ({
    [`POST ${base.replace(/s$/, '-imports')}`]: ({ body }: { body: unknown }) => answers(body as { dryRun: boolean; fromLine: number }),
  })

  test('writes the passwords with mode 0600 before the first user is created, and keeps those of created users', async () => {
    const { users, passwords, report } = await aFile()
    let before: string | undefined
    const answers = importing(({ dryRun, fromLine }) => {
      if (dryRun) return looked
      before ??= readFileSync(passwords, 'utf8')
      if (fromLine === 1) return aReport([line(2, 'anna', 'created')], { nextLine: 3 })
      return aReport([line(2, 'anna', 'existed'), line(3, 'ben', 'adopted', 'there'), line(4, 'admin', 'refused', '=reserved')])
    })
    const ran = await tenantry(['users', 'import', 'acme', users, '--passwords', passwords, '--report', report, '--yes'], { answers })
    expect([ran.exit, ran.asked.map(({ body }) => (body as { fromLine?: number }).fromLine)]).toEqual([1, [undefined, 1, 3]])
    const { passwords: sent } = (ran.asked[1] as { body: unknown }).body as { passwords: Record<string, string> }
    expect(Object.keys(sent)).toEqual(['anna', 'ben'])
    expect(before).toBe(`username,password\r\nanna,${sent.anna}\r\nben,${sent.ben}\r\n`)
    expect(await readFile(passwords, 'utf8')).toBe(`username,password\r\nanna,${sent.anna}\r\n`)
    expect((await stat(passwords)).mode & 0o777).toBe(0o600)
    expect(await readFile(report, 'utf8')).toContain(`4,admin,refused,"'=reserved"`)
    expect(ran.stdout).toContain('3 lines: 1 created, 1 adopted, 1 refused')
    expect(ran.stdout + ran.stderr).not.toContain(sent.anna)
  })

  test('keeps the password of an account that an interrupted batch created', async () => {
    const { users, passwords } = await aFile()
    const answers = importing(({ dryRun, fromLine }) => {
      if (dryRun) return looked
      if (fromLine === 1) return aReport([line(2, 'anna', 'created')], { nextLine: 3, stopped: 'no answer in 15 s' })
      return aReport([line(3, 'ben', 'adopted', 'there')])
    })
    const ran = await tenantry(['users', 'import', 'acme', users, '--passwords', passwords, '--yes'], { answers, clock: atOnce })
    expect(ran.exit).toBe(0)
    expect(await readFile(passwords, 'utf8')).toMatch(/^username,password\r\nanna,.{19}\r\nben,.{19}\r\n$/)
  })

  test('changes nothing with --dry-run and writes no file', async () => {
    const { users, passwords } = await aFile()
    const ran = await tenantry(['users', 'import', 'acme', users, '--dry-run', '--passwords', passwords], {
      answers: importing(() => looked),
    })
    expect([ran.exit, ran.asked.length]).toEqual([1, 1])
    expect(ran.stdout).toContain('Dry run: nothing was changed')
    await expect(stat(passwords)).rejects.toThrow(/ENOENT/)
  })

  const csvOf = ({ asked }: Awaited<ReturnType<typeof tenantry>>) => (asked[0] as { body: { csv: string } }).body.csv

  test('says in which encoding it read the file, with three names, and sends the letters', async () => {
    const { users } = await aFile()
    const csv = 'username;displayName\r\nanna;Anna\r\njoerg;J\u00f6rg \u2013 M\u00fcller\r\n'
    const named = (displayName: string) => ({ ...line(2, 'x', 'would_create'), displayName })
    const report = aReport([named('Anna'), named('Ben'), named('J\u00f6rg'), named('\u00c4nne')], {
      dryRun: true,
      notes: ['Ignored columns: Klasse'],
    })
    await writeFile(users, Buffer.from(csv.replace('\u2013', '\x96'), 'latin1'))
    const ran = await tenantry(['users', 'import', 'acme', users, '--dry-run', '--update', 'names', '--ignore-columns'], {
      answers: importing(() => report),
    })
    expect(ran.asked[0]?.body).toEqual({ csv, dryRun: true, update: ['names'], ignoreColumns: true })
    expect(ran.stderr).toContain('Read as Windows-1252. Names: J\u00f6rg; \u00c4nne; Anna\nIgnored columns: Klasse')
    await writeFile(users, Buffer.from(`\ufeff${csv}`, 'utf16le'))
    const wide = await tenantry(['users', 'import', 'acme', users, '--dry-run'], { answers: importing(() => report) })
    expect([wide.stderr.split('.')[0], csvOf(wide)]).toEqual(['Read as UTF-16', csv])
  })

  test('refuses a file in an encoding that it does not recognise, before any request', async () => {
    const { users } = await aFile()
    await writeFile(users, Buffer.from('username;displayName\r\njoerg;J\x94rg M\x81ller\r\n', 'latin1'))
    const ran = await tenantry(['users', 'import', 'acme', users, '--dry-run'], { answers: {} })
    expect([ran.exit, ran.asked.length]).toEqual([2, 0])
    expect(ran.stderr).toMatch(/neither UTF-8, UTF-16 nor Windows-1252/)
    const named = await tenantry(['users', 'import', 'acme', users, '--dry-run', '--encoding', 'cp850'], {
      answers: importing(() => looked),
    })
    expect(csvOf(named)).toContain('J\u00f6rg M\u00fcller')
    const unknown = await tenantry(['users', 'import', 'acme', users, '--dry-run', '--encoding', 'klingon'], { answers: {} })
    expect([unknown.exit, unknown.stderr]).toEqual([2, expect.stringContaining('--encoding klingon is not known')])
  })

  test('refuses a spreadsheet before any request', async () => {
    const { users } = await aFile()
    for (const bytes of ['PK\x03\x04\x14\x00', '\xd0\xcf\x11\xe0\xa1\xb1', '%PDF-1.7\n%\xe2\xe3\xcf\xd3'])
      for (const encoding of [[], ['--encoding', 'cp850']]) {
        await writeFile(users, Buffer.from(bytes, 'latin1'))
        const ran = await tenantry(['users', 'import', 'acme', users, '--dry-run', ...encoding], { answers: {} })
        expect([ran.exit, ran.asked.length]).toEqual([2, 0])
        expect(ran.stderr).toContain('is a spreadsheet or another document. fix: open it, and save it as "CSV UTF-8"')
      }
  })

  test('asks before it corrects names, and exits with 1 for users that cannot log in', async () => {
    const { users, passwords } = await aFile()
    const preview = aReport([line(2, 'anna', 'would_update', 'name "A" becomes "Anna"'), line(3, 'ben', 'erased', 'gone')], {
      dryRun: true,
    })
    const done = aReport([line(2, 'anna', 'updated', 'name "A" becomes "Anna"'), line(3, 'ben', 'erased', 'gone')])
    const answers = importing(({ dryRun }) => (dryRun ? preview : done))
    const argument = ['users', 'import', 'acme', users, '--passwords', passwords, '--update', 'names']
    expect((await tenantry(argument, { answers })).asked).toHaveLength(1)
    const ran = await tenantry([...argument, '--yes'], { answers })
    expect([ran.exit, ran.asked.length]).toEqual([1, 2])
    expect(ran.stdout).toMatch(/anna +updated +name "A" becomes "Anna"/)
    expect(ran.stdout).toContain('2 lines: 1 updated, 1 erased')
  })

  test('shows the reason of each refused line uncut', async () => {
    const { users } = await aFile()
    const why = 'username must be lower-case letters, digits and . _ = / + -, not starting with one of them; "Eva Große" is not'
    const report = aReport([line(2, 'anna', 'would_create'), line(6, 'Eva Große', 'refused', why)], { dryRun: true })
    const ran = await tenantry(['users', 'import', 'acme', users, '--dry-run'], { answers: importing(() => report), columns: 80 })
    expect(ran.stdout.replace(/\s+/g, ' ')).toContain(why)
    expect(ran.stdout).toContain('2 lines: 1 would be created, 1 refused')
  })

  test('never overwrites a password file', async () => {
    const { users, passwords } = await aFile()
    await writeFile(passwords, 'precious')
    const ran = await tenantry(['users', 'import', 'acme', users, '--passwords', passwords, '--yes'], { answers: importing(() => looked) })
    expect([ran.exit, ran.asked.length, await readFile(passwords, 'utf8')]).toEqual([2, 1, 'precious'])
  })

  test('that breaks off keeps the passwords and names the fix', async () => {
    const { users, passwords } = await aFile()
    const down = problemAnswer(503, { code: 'HOMESERVER_UNREACHABLE', message: 'the chat server of acme is away', retryable: true })
    const answers = importing(({ dryRun }) => (dryRun ? looked : down))
    const ran = await tenantry(['users', 'import', 'acme', users, '--passwords', passwords, '--yes'], { answers })
    expect(ran.exit).toBe(6)
    expect(ran.stderr).toMatch(/away; .*passwords\.csv holds the passwords .* another --passwords file/)
    expect(await readFile(passwords, 'utf8')).toMatch(/^username,password\r\nanna,.{19}\r\nben,.{19}\r\n$/)
  })

  test('ends when one line keeps failing, and keeps the passwords', async () => {
    const { users, passwords } = await aFile()
    const stuck = () => aReport([line(3, 'ben', 'refused', 'no')], { nextLine: 2, stopped: 'the platform itself failed' })
    const answers = importing(({ dryRun, fromLine }) => (dryRun ? looked : fromLine === 1 ? aReport([], { nextLine: 2 }) : stuck()))
    const ran = await tenantry(['users', 'import', 'acme', users, '--passwords', passwords, '--yes'], { answers, clock: atOnce })
    expect(ran.exit).toBe(6)
    expect(ran.stderr).toMatch(/line 2 failed: the platform itself failed; .*passwords\.csv holds the passwords/)
    expect(await readFile(passwords, 'utf8')).toMatch(/\r\nanna,.{19}\r\nben,.{19}\r\n$/)
  })

  test('requires a password file before any request', async () => {
    const { users } = await aFile()
    const ran = await tenantry(['users', 'import', 'acme', users, '--yes'], { answers: {} })
    expect([ran.exit, ran.asked.length]).toEqual([2, 0])
  })
})
