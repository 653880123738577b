import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { type Answers, type Asked, problemAnswer, stubUrl, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'
import { typist } from '../../support/typist.ts'

const account = { id: 'acc_0123456789abcdefghjk', name: 'anna', role: 'admin' }
const session = { token: 'jwt-of-anna', expiresAt: at('14:00:00'), account, setup: [] as string[] }
const who = {
  account,
  sessionId: 'ses_0123456789abcdefghjk',
  token: null,
  expiresAt: at('14:00:00'),
  setup: [],
  totp: true,
  login: 'password',
}
const login = 'POST /api/admin/v1/login'
const whoAmI = 'GET /api/admin/v1/whoami'
const answers: Answers = { [login]: session, [whoAmI]: who, 'GET /api/admin/v1/hosts': { hosts: [] } }

const line = ['login', '--name', 'anna', '--password-file', '-']
const authorization = (asked: Asked | undefined) => asked?.headers.get('authorization')

describe('login', () => {
  test('stores the token in a file with mode 0600 and uses it', async () => {
    const configFolder = await temporaryFolder()
    const ran = await tenantry(line, { answers, stdin: 'the password\n', configFolder })
    expect([ran.exit, ran.stdout]).toEqual([0, 'Logged in as anna (admin); the session expires 2026-01-05 14:00:00 UTC (in 12 h).\n'])
    expect(ran.asked[0]?.body).toEqual({ name: 'anna', password: 'the password' })

    const file = join(configFolder, 'tenantry', 'logins.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).not.toContain('the password')
    const later = await tenantry(['hosts', 'list'], { answers, configFolder })
    expect(authorization(later.asked[0])).toBe('Bearer jwt-of-anna')
  })

  test('logins are stored per address, and commands use the last one', async () => {
    const configFolder = await temporaryFolder()
    await tenantry(line, { answers, stdin: 'pw', configFolder })
    await tenantry([...line, '--url', 'https://other.example'], { answers, stdin: 'pw', configFolder })
    const stored = JSON.parse(await readFile(join(configFolder, 'tenantry', 'logins.json'), 'utf8'))
    expect(Object.keys(stored.logins)).toEqual([stubUrl, 'https://other.example'])
    expect(stored.last).toBe('https://other.example')
  })

  test('TENANTRY_TOKEN wins over a stored login', async () => {
    const configFolder = await temporaryFolder()
    await tenantry(line, { answers, stdin: 'pw', configFolder })
    const ran = await tenantry(['hosts', 'list'], { answers, configFolder, env: { TENANTRY_TOKEN: 'tny_ci' } })
    expect(authorization(ran.asked[0])).toBe('Bearer tny_ci')
  })

  test('a login warns that TENANTRY_TOKEN overrides it', async () => {
    const ran = await tenantry(line, { answers, stdin: 'pw', env: { TENANTRY_TOKEN: 'tny_ci' } })
    expect([ran.exit, ran.stderr]).toEqual([0, 'TENANTRY_TOKEN is set and overrides this login until you unset it.\n'])
    expect((await tenantry(line, { answers, stdin: 'pw' })).stderr).toBe('')
  })

  test('--browser shows page and code, and takes the session when somebody has approved it', async () => {
    const begun = {
      deviceCode: 'secret',
      userCode: 'BCDF-GHJK',
      page: `${stubUrl}/console/login/cli?code=BCDF-GHJK`,
      expiresAt: at('02:10:00'),
    }
    const finish = [{ session: null }, { session: null }, { session }]
    const cli = { 'POST /api/admin/v1/cli-logins': begun, 'POST /api/admin/v1/cli-logins/finish': finish }
    const manual = manualClock()
    const clock = { ...manual, sleep: (ms: number) => manual.advance(ms) }
    const ran = await tenantry(['login', '--browser'], { answers: { ...answers, ...cli }, clock })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('Logged in as anna (admin)')])
    expect(ran.stderr).toContain(`${begun.page}\n  code: BCDF-GHJK`)
    expect(ran.asked.filter(({ path }) => path.endsWith('/finish')).map(({ body }) => body)).toEqual(
      Array(3).fill({ deviceCode: 'secret' }),
    )
    const late = { ...cli, 'POST /api/admin/v1/cli-logins/finish': { session: null } }
    const nobody = await tenantry(['login', '--browser'], { answers: { ...answers, ...late }, clock })
    expect([nobody.exit, nobody.stderr]).toEqual([4, expect.stringContaining('No account approved the login')])
  })

  test('a file that others can read is refused', async () => {
    const configFolder = await temporaryFolder()
    await tenantry(line, { answers, stdin: 'pw', configFolder })
    await chmod(join(configFolder, 'tenantry', 'logins.json'), 0o644)
    const ran = await tenantry(['hosts', 'list'], { answers, configFolder })
    expect([ran.exit, ran.asked]).toEqual([2, []])
    expect(ran.stderr).toContain('chmod 600')
  })

  test('an account with one-time codes requires one, which a script can pass', async () => {
    const needsCode = problemAnswer(401, { code: 'TOTP_REQUIRED', message: 'a one-time code is needed', retryable: false })
    const refused = await tenantry(line, { answers: { ...answers, [login]: needsCode }, stdin: 'pw' })
    expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('--totp')])
    const given = await tenantry([...line, '--totp', '123456'], { answers, stdin: 'pw' })
    expect(given.asked[0]?.body).toEqual({ name: 'anna', password: 'pw', totp: '123456' })
  })

  test('a first login sets the password from the second line', async () => {
    const ran = await tenantry(line, {
      answers: { ...answers, [login]: { ...session, setup: ['password'] }, 'POST /api/admin/v1/password': undefined },
      stdin: 'one-time\na password of my own\n',
    })
    expect(ran.exit).toBe(0)
    expect(ran.asked[1]?.body).toEqual({ currentPassword: 'one-time', newPassword: 'a password of my own' })
    expect(authorization(ran.asked[1])).toBe('Bearer jwt-of-anna')
  })

  test('enrolment of one-time codes shows the secret and prompts for the code', async () => {
    const enrolled = { secret: 'JBSWY3DP', uri: 'otpauth://totp/Tenantry:anna?secret=JBSWY3DP' }
    const ran = await tenantry(line, {
      answers: { ...answers, [login]: { ...session, setup: ['totp'] }, 'POST /api/admin/v1/totp/enrol': enrolled },
      stdin: 'pw',
    })
    expect(ran.exit).toBe(2)
    expect(ran.stderr).toContain(enrolled.uri)
    expect(ran.stdout).not.toContain(enrolled.secret)
  })

  test('a person whose new password or code is refused is asked again: the one-time password is used up', async () => {
    const wrongCode = problemAnswer(401, { code: 'LOGIN_FAILED', message: 'The code is wrong.', retryable: false })
    const person = typist([
      ['Password', 'one-time password'],
      ['New password', 'one-time password'],
      ['New password', 'a password of my own'],
      ['Repeat new password', 'a pasword of my own'],
      ['New password', 'a password of my own'],
      ['Repeat new password', 'a password of my own'],
      ['Code from the app', '111111'],
      ['Code from the app', '222222'],
    ])
    const ran = await tenantry(['login', '--name', 'anna'], {
      answers: {
        ...answers,
        [login]: { ...session, setup: ['password', 'totp'] },
        'POST /api/admin/v1/password': undefined,
        'POST /api/admin/v1/totp/enrol': { secret: 'JBSWY3DP', uri: 'otpauth://totp/Tenantry:anna?secret=JBSWY3DP' },
        'POST /api/admin/v1/totp/confirm': [wrongCode, { recoveryCodes: ['aaaa-bbbb'] }],
      },
      typist: person,
    })
    expect([ran.exit, person.unasked()]).toEqual([0, []])
    const sent = (path: string) => ran.asked.filter((asked) => asked.path === path).map(({ body }) => body)
    expect(sent('/api/admin/v1/password')).toEqual([{ currentPassword: 'one-time password', newPassword: 'a password of my own' }])
    expect(sent('/api/admin/v1/totp/confirm')).toEqual([{ totp: '111111' }, { totp: '222222' }])
    expect(person.shown()).toContain('The password must differ from the current password.')
    expect(person.shown()).toContain('The passwords do not match. Enter both again.')
  })

  test('a wrong password stores nothing', async () => {
    const wrong = problemAnswer(401, { code: 'LOGIN_FAILED', message: 'name, password or code is wrong', retryable: false })
    const ran = await tenantry(line, { answers: { [login]: wrong }, stdin: 'pw' })
    expect(ran.exit).toBe(4)
    await expect(stat(join(ran.configFolder, 'tenantry', 'logins.json'))).rejects.toThrow()
  })
})

test.each([
  ['ends the session on the daemon', undefined],
  ['forgets a session that has ended by itself', problemAnswer(401, { code: 'UNAUTHENTICATED', message: 'ended', retryable: false })],
])('logout %s', async (_, answer) => {
  const configFolder = await temporaryFolder()
  await tenantry(line, { answers, stdin: 'pw', configFolder })
  const ran = await tenantry(['logout'], { answers: { 'POST /api/admin/v1/logout': answer }, configFolder })
  expect([ran.exit, ran.stdout]).toEqual([0, `Logged out of ${stubUrl}.\n`])
  const later = await tenantry(['hosts', 'list'], { answers, configFolder })
  expect(authorization(later.asked[0])).toBeNull()
})

describe('doctor', () => {
  const ready = (given = {}) => ({ ready: true, version: '0.1.3', time: at('02:00:00'), checks: { database: { ok: true } }, ...given })
  const readyz = 'GET /readyz'

  test('all checks pass', async () => {
    const ran = await tenantry(['doctor'], { answers: { [readyz]: ready(), [whoAmI]: who } })
    expect(ran.exit).toBe(0)
    expect(ran.stdout).not.toContain('fix:')
  })

  test.each<[string, Answers, string]>([
    ['a daemon that is away', {}, 'tenantryd serve'],
    ['a clock that is off', { [readyz]: ready({ time: at('02:05:00') }), [whoAmI]: who }, '300 s behind'],
    [
      'no login',
      { [readyz]: ready(), [whoAmI]: problemAnswer(401, { code: 'UNAUTHENTICATED', message: 'no', retryable: false }) },
      'tenantry login',
    ],
    [
      'another server',
      { [readyz]: problemAnswer(404, { code: 'NOT_FOUND', message: '/x/readyz does not exist', retryable: false }) },
      `fix: pass the right address with --url or TENANTRY_URL instead of ${stubUrl}\n· login      skipped`,
    ],
    [
      'a daemon that drains',
      { [readyz]: problemAnswer(503, { code: 'UNAVAILABLE', message: 'draining', retryable: true }), [whoAmI]: who },
      'tenantryd doctor',
    ],
  ])('%s: reports it with a fix and exits 6', async (_, given, says) => {
    const ran = await tenantry(['doctor'], { answers: given })
    expect([ran.exit, ran.stdout]).toEqual([6, expect.stringContaining(says)])
    expect(ran.stdout).toContain('fix:')
  })

  test('another version is a warning, not a failure', async () => {
    const ran = await tenantry(['doctor'], { answers: { [readyz]: ready({ version: '0.2.0' }), [whoAmI]: who } })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('install the daemon version')])
  })
})

test('an unreadable logins file is reported', async () => {
  const configFolder = await temporaryFolder()
  await tenantry(line, { answers, stdin: 'pw', configFolder })
  await writeFile(join(configFolder, 'tenantry', 'logins.json'), 'not json')
  expect((await tenantry(['hosts', 'list'], { answers, configFolder })).stderr).toContain('log in again')
})

describe('a command that creates a credential, in an old session', () => {
  const refused = problemAnswer(403, {
    code: 'REAUTHENTICATION_REQUIRED',
    message: 'This session gave its password more than 10 minutes ago. fix: enter it again (`tenantry login`), then repeat the command',
    retryable: false,
  })
  const codeNeeded = problemAnswer(401, { code: 'TOTP_REQUIRED', message: 'a code is needed', retryable: false })
  const token = { id: 'tok_0123456789abcdefghjk', name: 'ci', role: 'viewer', token: 'tnt_secret', expiresAt: at('14:00:00') }
  const [create, prove] = ['POST /api/admin/v1/tokens', 'POST /api/admin/v1/reauthenticate']
  const command = ['tokens', 'create', 'ci', '--role', 'viewer']

  test('asks for password and code, and repeats the call', async () => {
    const person = typist([
      ['Password', 'a password of my own'],
      ['One-time or recovery code', '123456'],
    ])
    const ran = await tenantry(command, {
      answers: { [whoAmI]: who, [create]: [refused, token], [prove]: [codeNeeded, { expiresAt: at('02:10:00') }] },
      typist: person,
    })
    expect([ran.exit, person.unasked()]).toEqual([0, []])
    expect(ran.stdout).toContain('tnt_secret')
    expect(ran.asked.map(({ path, body }) => [path.split('/').pop(), body])).toEqual([
      ['tokens', { name: 'ci', role: 'viewer' }],
      ['whoami', undefined],
      ['reauthenticate', { password: 'a password of my own' }],
      ['reauthenticate', { password: 'a password of my own', totp: '123456' }],
      ['tokens', { name: 'ci', role: 'viewer' }],
    ])
  })

  test('is refused with the way out where nobody can be asked', async () => {
    const ran = await tenantry(command, { answers: { [create]: refused } })
    expect([ran.exit, ran.asked.length]).toEqual([4, 1])
    expect(ran.stderr).toContain('tenantry login')
  })

  test('an account of the provider is told to log in again', async () => {
    const person = typist([])
    const byProvider = { ...who, login: 'provider' }
    const ran = await tenantry(command, { answers: { [whoAmI]: byProvider, [create]: refused }, typist: person })
    expect([ran.exit, person.shown()]).toEqual([4, expect.stringContaining('tenantry login --browser')])
  })

  test('a wrong password ends it', async () => {
    const wrong = problemAnswer(401, {
      code: 'WRONG_PASSWORD',
      message: 'The current password is wrong; nothing was changed.',
      retryable: false,
    })
    const person = typist([['Password', 'a guess']])
    const ran = await tenantry(command, { answers: { [whoAmI]: who, [create]: refused, [prove]: wrong }, typist: person })
    expect([ran.exit, ran.asked.length]).toEqual([4, 3])
    expect(person.shown()).toContain('The current password is wrong')
  })
})
