import { describe, expect, test } from 'vitest'
import { catalogue, manualClock, type ProblemCode } from '../../../src/core/kit/index.ts'
import { type Answers, problemAnswer, tenantry } from '../../support/command-line.ts'
import { until } from '../../support/event-world.ts'

const hosts = 'GET /api/admin/v1/hosts'
const answerWith = (code: ProblemCode, extras = {}) => ({
  [hosts]: problemAnswer(catalogue[code].status, {
    code,
    message: `what went wrong: ${code}`,
    retryable: catalogue[code].retryable,
    ...extras,
  }),
})

describe('exit codes', () => {
  test.each(Object.entries(catalogue).map(([code, { exit }]) => [code as ProblemCode, exit] as const))(
    '%s exits %i',
    async (code, exit) => {
      const ran = await tenantry(['hosts', 'list'], { answers: answerWith(code), env: { TENANTRY_TOKEN: 'tny_ci' } })
      expect([ran.exit, ran.stdout]).toEqual([exit, ''])
      expect(ran.stderr).toContain(`what went wrong: ${code}`)
    },
  )

  test('a daemon that does not answer exits 6', async () => {
    const ran = await tenantry(['hosts', 'list'])
    expect(ran.exit).toBe(6)
    expect(ran.stderr).toMatch(/^error: http:\/\/127\.0\.0\.1:8440 does not answer .*\nnext: {2}tenantry doctor\n$/s)
  })

  test.each([
    ['an unknown noun', ['host', 'list'], 'tenantry --help'],
    ['an unknown verb', ['hosts', 'lst'], 'tenantry hosts --help'],
    ['a missing argument', ['hosts', 'show'], 'tenantry hosts show --help'],
    ['a missing option', ['rollouts', 'pause', 'ro_x'], 'tenantry rollouts pause --help'],
    ['an unknown option', ['hosts', 'list', '--al'], 'tenantry hosts list --help'],
    ['a word that is none of the choices', ['boxes', 'list', '--tier', 'gold'], 'tenantry boxes list --help'],
    ['a number that is none', ['boxes', 'list', '--limit', 'many'], 'tenantry boxes list --help'],
    ['an argument too many', ['hosts', 'list', 'more'], 'tenantry hosts list --help'],
    ['an address without encryption', ['hosts', 'list', '--url', 'http://tenantry.example'], 'tenantry hosts list --help'],
    ['an address with a password', ['hosts', 'list', '--url', 'https://anna:pw@tenantry.example'], 'tenantry hosts list --help'],
    ['no address', ['hosts', 'list', '--url', 'tenantry'], 'tenantry hosts list --help'],
    ['a port that no client calls', ['hosts', 'list', '--url', 'http://127.0.0.1:6000'], 'tenantry hosts list --help'],
  ])('%s is a usage error: exit 2 and a pointer to help', async (_, line, next) => {
    const ran = await tenantry(line)
    expect([ran.exit, ran.stdout, ran.asked]).toEqual([2, '', []])
    expect(ran.stderr).toMatch(/^error: .* \[USAGE\]\n/)
    expect(ran.stderr).toContain(`next:  ${next}`)
  })

  test.each(['https://tenantry.example', 'http://localhost:8441', 'http://127.0.0.1:8441', 'http://[::1]:8441'])(
    '%s is a valid address',
    async (url) => {
      const ran = await tenantry(['hosts', 'list', '--url', url], { answers: { [hosts]: { hosts: [] } } })
      expect(ran.exit).toBe(0)
    },
  )
})

describe('an error', () => {
  test('is short: the error, the fields, the next command', async () => {
    const details = [
      { path: 'name', reason: 'must be lower-case' },
      { path: 'colour', reason: 'is not a known field' },
    ]
    const ran = await tenantry(['hosts', 'list'], { answers: answerWith('VALIDATION', { details }) })
    expect(ran.stderr).toBe(
      'error: what went wrong: VALIDATION [VALIDATION]\n  name must be lower-case\n  colour is not a known field\nnext:  tenantry hosts list --help\n',
    )
  })

  test('does not repeat a detail that the message contains', async () => {
    const [message, details] = [
      'there is no box oak: `tenantry boxes list` shows all',
      [{ path: 'slugs.0', reason: 'there is no box oak' }],
    ]
    const answers = { [hosts]: problemAnswer(400, { code: 'VALIDATION', message, details, retryable: false }) }
    expect((await tenantry(['hosts', 'list'], { answers })).stderr).toBe(`error: ${message} [VALIDATION]\n`)
  })

  test('does not repeat the details of a list either', async () => {
    const details = ['oak', 'elm'].map((slug, at) => ({ path: `slugs.${at}`, reason: `there is no box ${slug}` }))
    const message = 'there is no box oak; there is no box elm: `tenantry boxes list` shows all'
    const answers = { [hosts]: problemAnswer(404, { code: 'NOT_FOUND', message, details, retryable: false }) }
    expect((await tenantry(['hosts', 'list'], { answers })).stderr).toBe(`error: ${message} [NOT_FOUND]\n`)
  })

  test('without a login names the address, not the missing header', async () => {
    const { stderr } = await tenantry(['hosts', 'list'], { answers: answerWith('UNAUTHENTICATED') })
    expect(stderr).toBe('error: not logged in to http://127.0.0.1:8440 [UNAUTHENTICATED]\nnext:  tenantry login\n')
  })

  test('of a list within a tenant, or of the login of its user, repeats the tenant', async () => {
    const gone = problemAnswer(404, { code: 'NOT_FOUND', message: 'Board brd_nope does not exist.', retryable: false })
    const wrong = problemAnswer(401, { code: 'LOGIN_FAILED', message: 'name or password is wrong', retryable: false })
    const answers = { 'GET /api/admin/v1/tenants/one/boards/brd_nope': gone, 'POST /api/auth/v1/login': wrong }
    const shown = await tenantry(['boards', 'show', 'brd_nope', '--tenant', 'one'], { answers })
    expect(shown.stderr).toContain('next:  tenantry boards list --tenant one\n')
    const login = await tenantry(['login', '--tenant', 'one', '--name', 'tim', '--password-file', '-'], { answers, stdin: 'x' })
    expect(login.stderr).toContain('next:  tenantry login --tenant one\n')
  })

  test('comes after a minute without an answer to a read, and the wait is announced', async () => {
    const clock = manualClock()
    const ran = (line: string[], answers: Answers) => {
      const running = tenantry(line, { answers, answerClock: clock })
      return { running, wait: (ms: number) => until('the request', () => clock.sleepers() > 0).then(() => clock.advance(ms)) }
    }
    const silent = ran(['hosts', 'list'], { [hosts]: () => new Promise(() => undefined) })
    await silent.wait(60_000)
    const { exit, stderr } = await silent.running
    expect([exit, stderr.split('\n')[0]]).toEqual([6, 'waiting for http://127.0.0.1:8440…'])
    expect(stderr).toContain('did not answer within 60 seconds [UNREACHABLE]')
    let answer: ((response: Response) => void) | undefined
    const slow = ran(['crons', 'run', 'housekeeping'], {
      'POST /api/admin/crons/housekeeping/trigger': () =>
        new Promise<Response>((resolve) => {
          answer = resolve
        }),
    })
    await until('the request', () => answer !== undefined)
    await slow.wait(600_000)
    answer?.(problemAnswer(409, { code: 'CONFLICT', message: 'runs already', retryable: false }))
    expect((await slow.running).stderr).toMatch(/\nwaiting for .*\nerror: runs already/)
  })

  test.each([
    [
      'a path of the daemon that there is not',
      problemAnswer(404, { code: 'NOT_FOUND', message: '/x/hosts does not exist: /docs lists what does', retryable: false }),
      'next:  tenantry doctor',
    ],
    [
      'a page of another server',
      new Response('<html>', { status: 404 }),
      "http://127.0.0.1:8440 answered 404 without an explanation: is it the daemon's address?",
    ],
    [
      'a page of another server that is well',
      new Response('<html>'),
      "http://127.0.0.1:8440 answered 200 without a result: is it the daemon's address?",
    ],
  ])('of a wrong address names it: %s', async (_, answer, says) => {
    expect((await tenantry(['hosts', 'list'], { answers: { [hosts]: answer } })).stderr).toContain(says)
  })

  test('of a server without TLS says so in a few words', async () => {
    const noTls = () => {
      throw Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error('804C0:error:0A00010B:SSL routines: '), { code: 'ERR_SSL_WRONG_VERSION_NUMBER' }),
      })
    }
    const { stderr } = await tenantry(['hosts', 'list'], { answers: { [hosts]: noTls } })
    expect(stderr).toContain(
      'does not answer (TLS handshake failed with ERR_SSL_WRONG_VERSION_NUMBER; the server may speak plain HTTP): is',
    )
  })

  test('names the typed subject in the next command', async () => {
    const answers = {
      'POST /admin/tenant-boxes/rollouts/ro_x/pause': problemAnswer(409, {
        code: 'INVALID_TRANSITION',
        message: 'it is done',
        retryable: false,
      }),
    }
    const ran = await tenantry(['rollouts', 'pause', 'ro_x', '--reason', 'lunch'], { answers })
    expect([ran.exit, ran.stderr]).toEqual([5, 'error: it is done [INVALID_TRANSITION]\nnext:  tenantry rollouts show ro_x\n'])
  })

  test('of a refused plan suggests an option of the same command', async () => {
    const answers = {
      'POST /admin/tenant-boxes/rollouts/ro_x/start': problemAnswer(409, { code: 'PLAN_REFUSED', message: 'no', retryable: false }),
    }
    const { stderr } = await tenantry(['rollouts', 'start', 'ro_x'], { answers })
    expect(stderr).toContain('next:  fix those boxes, or skip them with --skip-refused')
  })

  test.each(['no host: `tenantry hosts invite` adds one', 'no host. fix: tenantry hosts invite'])(
    'with a command in its message has no next line: %s',
    async (message) => {
      const answers = { [hosts]: problemAnswer(404, { code: 'NOT_FOUND', message, retryable: false }) }
      expect((await tenantry(['hosts', 'list'], { answers })).stderr).not.toContain('next:')
    },
  )

  test.each([
    ['UNAUTHENTICATED', 'TENANTRY_TOKEN is set and overrides your login: replace it, or unset it and run tenantry login'],
    ['FORBIDDEN', 'tenantry whoami shows the role of TENANTRY_TOKEN; to use your own, unset it and run tenantry login'],
  ] as const)('with TENANTRY_TOKEN does not suggest a login alone: %s', async (code, next) => {
    const ran = await tenantry(['hosts', 'list'], { answers: answerWith(code), env: { TENANTRY_TOKEN: 'tny_ci' } })
    expect(ran.stderr).toContain(`next:  ${next}\n`)
    expect((await tenantry(['hosts', 'list'], { answers: answerWith(code) })).stderr).not.toContain('TENANTRY_TOKEN')
  })

  test('help of a verb that does not exist leads to the help of its noun', async () => {
    expect((await tenantry(['help', 'billing', 'nope'])).stderr).toMatch(/nope.* \[USAGE\]\nnext: +tenantry billing --help\n$/)
  })

  test('what an API token cannot do needs a login', async () => {
    const answers = {
      'POST /api/admin/v1/automation-keys': problemAnswer(403, {
        ...{ code: 'FORBIDDEN', message: 'API tokens cannot do this. Log in as a person.', retryable: false },
      }),
    }
    const line = ['automation', 'keys', 'create', 'n8n', '--tenant', 'linden']
    const ran = await tenantry(line, { answers, env: { TENANTRY_TOKEN: 'tny_ci' } })
    expect(ran.stderr).toContain('next:  unset TENANTRY_TOKEN, then tenantry login\n')
  })

  test('shows how long to wait', async () => {
    const answers = { [hosts]: problemAnswer(429, { code: 'RATE_LIMITED', message: 'too many', retryable: true }, { 'retry-after': '7' }) }
    expect((await tenantry(['hosts', 'list'], { answers })).stderr).toContain('wait 7 seconds')
  })

  test('has no foreign control characters', async () => {
    const answers = { [hosts]: problemAnswer(409, { code: 'CONFLICT', message: 'a\u001b]0;title\u0007b\nc', retryable: false }) }
    const { stderr } = await tenantry(['hosts', 'list'], { answers })
    expect([stderr.includes('\u0007'), stderr.includes('\u001b')]).toEqual([false, false])
  })

  test('with --json is the body that the API gave, on stderr', async () => {
    const ran = await tenantry(['hosts', 'list', '--json'], { answers: answerWith('FORBIDDEN') })
    expect(ran.stdout).toBe('')
    expect(JSON.parse(ran.stderr)).toEqual({ code: 'FORBIDDEN', message: 'what went wrong: FORBIDDEN', retryable: false })
    const gone = { 'POST /api/admin/crons/nope/trigger': problemAnswer(404, { code: 'NOT_FOUND', message: 'no\njob', retryable: false }) }
    const { stderr } = await tenantry(['crons', 'run', 'nope', '--json'], { answers: gone })
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ code: 'NOT_FOUND' }) // after the progress lines
  })

  test('shows a stack only with TENANTRY_DEBUG', async () => {
    const answers = { [hosts]: new Response('<html>', { status: 200 }) }
    const quiet = await tenantry(['hosts', 'list'], { answers })
    expect(quiet.exit).toBe(6)
    expect(quiet.stderr).not.toMatch(/\n\s+at /)
    expect((await tenantry(['hosts', 'list'], { answers, env: { TENANTRY_DEBUG: '1' } })).stderr).toMatch(/\n\s+at /)
    const scripted = await tenantry(['hosts', 'list', '--json'], { answers, env: { TENANTRY_DEBUG: '1' } })
    expect(scripted.stderr).toMatch(/\n\s+at /)
    expect(JSON.parse(scripted.stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ code: 'UNREACHABLE' })
  })

  test.each([
    ['NOT_FOUND', ['users', 'end-session', 'oak', 'ses_1'], 'DELETE /api/admin/v1/tenants/oak/sessions/ses_1', 'tenantry users list oak'],
    ['CONFLICT', ['users', 'enable', 'oak', 'ben'], 'POST /api/admin/v1/tenants/oak/users/ben/enable', 'tenantry users show oak ben'],
  ] as const)('%s in a tenant names the tenant in the next command', async (code, typed, endpoint, next) => {
    const ran = await tenantry([...typed], { answers: { [endpoint]: problemAnswer(409, { code, message: 'no', retryable: false }) } })
    expect(ran.stderr).toBe(`error: no [${code}]\nnext:  ${next}\n`)
  })
})

describe('colour', () => {
  const colourStart = '\u001b['
  const answers = answerWith('CONFLICT')
  test.each([
    ['on a terminal', { columns: 80 }, [], true],
    ['in a pipe', {}, [], false],
    ['with NO_COLOR', { columns: 80, env: { NO_COLOR: '1' } }, [], false],
    ['with --no-color', { columns: 80 }, ['--no-color'], false],
    ['on a dumb terminal', { columns: 80, env: { TERM: 'dumb' } }, [], false],
  ])('%s', async (_, options, more, colour) => {
    const ran = await tenantry(['hosts', 'list', ...more], { answers, ...options })
    expect(ran.stderr.includes(colourStart)).toBe(colour)
  })
})
