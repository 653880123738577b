import { describe, expect, test } from 'vitest'
import { type Answers, problemAnswer, stubUrl, tenantry } from '../../support/command-line.ts'
import { aBoxRow, aHost } from '../../support/records.ts'

const answers: Answers = {
  'GET /api/admin/v1/hosts': {
    hosts: [aHost({ name: 'host-1' }), aHost({ name: 'a-host-with-a-very-long-name-indeed.example', reason: null })],
  },
  'GET /api/admin/v1/boxes': { boxes: [aBoxRow({ slug: 'anna-schule' })], nextCursor: '20' },
}
const hosts = (line: readonly string[], options = {}) => tenantry(['hosts', ...line], { answers, ...options })

describe('output formats', () => {
  test('-o json is --json', async () => {
    expect((await hosts(['list', '-o', 'json'])).stdout).toBe((await hosts(['list', '--json'])).stdout)
    expect((await hosts(['show', '-o=json'])).stderr).toContain('USAGE')
  })

  test('-o yaml prints the same result', async () => {
    expect((await hosts(['list', '-o', 'yaml'])).stdout).toMatch(/^hosts:\n {2}- (?:.*\n)*? {4}name: host-1$/m)
  })

  test('-o wide keeps every column whole on a narrow terminal', async () => {
    const narrow = (await hosts(['list'], { columns: 40 })).stdout
    const wide = (await hosts(['list', '-o', 'wide'], { columns: 40 })).stdout
    expect([narrow.includes('ENGINE'), wide.includes('ENGINE'), wide.includes('a-host-with-a-very-long-name-indeed.example')]).toEqual([
      false,
      true,
      true,
    ])
  })

  test('-o with another word is a usage error', async () => {
    const ran = await hosts(['list', '-o', 'xml'])
    expect([ran.exit, ran.asked]).toEqual([2, []])
    expect(ran.stderr).toContain('json, yaml, wide')
  })

  test('a pipe gets every column, also an empty one, whatever COLUMNS says', async () => {
    const { stdout } = await hosts(['list'], { env: { COLUMNS: '40' } })
    expect(stdout.split('\n')[0]).toMatch(/^HOST +STATUS +LAST SEEN .* REASON$/)
    expect(stdout).toContain('a-host-with-a-very-long-name-indeed.example')
  })

  test('--columns chooses columns in that order', async () => {
    const { stdout } = await hosts(['list', '--columns', 'status,host'])
    expect(stdout.split('\n').slice(0, 2)).toEqual(['STATUS  HOST', 'online  host-1'])
    expect((await hosts(['list', '--columns', 'last-seen'])).stdout).toMatch(/^LAST SEEN\n/)
    const unknown = await hosts(['list', '--columns', 'colour'])
    expect([unknown.exit, unknown.stderr.includes('fix: use some of host, status, last-seen')]).toEqual([2, true])
  })

  test('--columns is refused before a command changes something', async () => {
    const ran = await tenantry(['boxes', 'rm', 'anna-schule', '--reason', 'left', '-y', '--columns', 'box'], { answers })
    expect([ran.exit, ran.asked]).toEqual([2, []])
  })

  test('-q prints names alone, for scripts', async () => {
    expect((await hosts(['ls', '-q'])).stdout).toBe('host-1\na-host-with-a-very-long-name-indeed.example\n')
    expect((await tenantry(['boxes', 'ls', '-q'], { answers })).stdout).toBe('anna-schule\n')
  })
})

describe('names that people know', () => {
  test.each([
    [
      ['help', 'hosts'],
      ['hosts', '--help'],
    ],
    [
      ['help', 'hosts', 'list'],
      ['hosts', 'list', '--help'],
    ],
    [['help'], ['--help']],
    [['-v'], ['--version']],
    [
      ['hosts', 'ls'],
      ['hosts', 'list'],
    ],
    [
      ['boxes', 'ls', '-n', '5'],
      ['boxes', 'list', '--limit', '5'],
    ],
  ])('%j is %j', async (short, long) => {
    const [first, second] = [await tenantry(short, { answers }), await tenantry(long, { answers })]
    expect([first.exit, first.stdout, first.asked.map(({ search }) => search)]).toEqual([
      0,
      second.stdout,
      second.asked.map(({ search }) => search),
    ])
  })

  test('rm removes, and -y confirms', async () => {
    const ran = await tenantry(['boxes', 'rm', 'anna-schule', '--reason', 'left', '-y', '--no-wait'], { answers })
    expect(ran.asked.map(({ method }) => method)).toEqual(['POST'])
  })

  test('the help of a noun has its verbs first, in groups, on one screen', async () => {
    const { stdout } = await tenantry(['boxes', '--help'], { columns: 100 })
    const lines = stdout.split('\n')
    expect(lines.length).toBeLessThanOrEqual(29)
    expect(lines[4]).toBe('Read:')
    expect(stdout).toMatch(/Change:\n(?:.*\n)* +remove\|rm/)
  })
})

describe('commands in texts repeat --url', () => {
  const elsewhere = 'http://127.0.0.1:9999'

  test('where the daemon is named by the option', async () => {
    const none = { 'GET /api/admin/v1/boxes': { boxes: [], nextCursor: null } }
    expect((await tenantry(['boxes', 'list', '--url', elsewhere], { answers: none })).stdout).toContain(
      `tenantry --url ${elsewhere} boxes provision`,
    )
    expect((await tenantry(['boxes', 'list'], { answers: none, env: { TENANTRY_URL: elsewhere } })).stdout).not.toContain('--url')
  })

  test('also below an error, so that a failed login is repeated at the same daemon', async () => {
    const wrong = problemAnswer(401, { code: 'LOGIN_FAILED', message: 'name, password or code is wrong', retryable: false })
    const line = ['login', '--name', 'anna', '--password-file', '-']
    const login = { answers: { 'POST /api/admin/v1/login': wrong }, stdin: 'pw' }
    expect((await tenantry([...line, '--url', elsewhere], login)).stderr).toContain(`next:  tenantry --url ${elsewhere} login`)
    expect((await tenantry(line, login)).stderr).toContain('next:  tenantry login')
    expect(stubUrl).not.toBe(elsewhere)
  })
})

test('show is a summary; --verbose has every detail', async () => {
  const one = { 'GET /api/admin/v1/hosts/host-1': aHost({ name: 'host-1' }) }
  const summary = (await tenantry(['hosts', 'show', 'host-1'], { answers: one })).stdout
  const whole = (await tenantry(['hosts', 'show', 'host-1', '--verbose'], { answers: one })).stdout
  expect([/^id /m.test(summary), /^id /m.test(whole)]).toEqual([false, true])
  expect(whole.split('\n')).toEqual(expect.arrayContaining(summary.split('\n').filter((line) => line.startsWith('status'))))
})
