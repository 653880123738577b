import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { bare, displayWidth } from '../../../src/core/kit/index.ts'
import { type Answers, type Asked, problemAnswer, tenantry as run, temporaryFolder } from '../../support/command-line.ts'
import { anAction, aPlan, aPlannedBox, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

/** Prompts as shown, and the answers in order. */
const prompts = vi.hoisted(() => ({ asked: [] as { kind: string; message: string; mask?: unknown }[], answers: [] as unknown[] }))
vi.mock('@inquirer/prompts', () => {
  const prompt = (kind: string) => async (config: { message: string; mask?: unknown }) => {
    prompts.asked.push({ kind, ...config })
    if (prompts.answers.length === 0) throw new Error(`unexpected prompt: ${config.message}`)
    return prompts.answers.shift()
  }
  return { input: prompt('input'), password: prompt('password'), confirm: prompt('confirm') }
})
beforeEach(() => {
  prompts.asked.length = 0
  prompts.answers.length = 0
})

const token = 'Zq7x-approval-token-PwK2'
const id = 'cve-20260105-8k2m4x9p'
const boxes = [
  aPlannedBox('prima', { tier: 'pro', phase: 'pro', expectedFenceMs: 240_000 }),
  aPlannedBox('acme', { phase: 'free_100' }),
  aPlannedBox('beta', { phase: 'free_100', does: 'skip' }),
]
const refused = aPlannedBox('cora', {
  phase: 'free_100',
  does: 'refuse',
  findings: [{ severity: 'refuse', code: 'HOST_OFFLINE', message: 'the host of cora is offline' }],
})
const phases = (all: readonly { phase: string; tenantSlug: string }[]) =>
  (['pro', 'enterprise', 'free_100'] as const).map((phase) => ({
    phase,
    slugs: all.filter((box) => box.phase === phase).map(({ tenantSlug }) => tenantSlug),
    expectedMs: 240_000,
  }))
const planOf = (all = boxes) => aPlan(all, { kind: 'emergency_cve', manifestRevision: 5, pauses: [rolloutId], phases: phases(all) })
const made = (all = boxes) =>
  aRolloutDetail([anAction('prima', { phase: 'pro' })], {
    id,
    kind: 'emergency_cve',
    status: 'queued',
    manifestRevision: 5,
    plan: planOf(all),
  })
const started = aRollout({ id, kind: 'emergency_cve', status: 'pro' })
const plan = 'POST /admin/tenant-boxes/rollouts/plan'
const create = 'POST /admin/v1/tenant-boxes/cve-hotpath'
const start = `POST /admin/tenant-boxes/rollouts/${id}/start`
const list = 'GET /admin/tenant-boxes/rollouts'
const known = (...emergencyLacks: string[]) => ({ rollouts: [], nextCursor: null, emergencyLacks })
const answers: Answers = { [list]: known(), [plan]: planOf(), [create]: made(), [start]: started }

/** Without the first request, which reads what emergencies lack. */
const tenantry = async (...given: Parameters<typeof run>) => {
  const ran = await run(...given)
  return { ...ran, asked: ran.asked.filter(({ method, path }) => `${method} ${path}` !== list) }
}

const flags = [
  '--cve',
  'CVE-2026-12345',
  '--reason',
  'rooms of others can be read',
  '--to-chat-server',
  '1.163.2',
  '--triggered-by',
  'anna',
]
const order = { reason: 'CVE-2026-12345: rooms of others can be read', toChatServer: '1.163.2', triggeredBy: 'anna' }
const line = (...more: string[]) => ['rollouts', 'emergency', ...flags, ...more]
const paths = (asked: readonly Asked[]) => asked.map(({ method, path }) => `${method} ${path}`)

describe('for a script', () => {
  test('a version may have the v of its tag', async () => {
    const { exit, asked } = await tenantry([...line('--token-file', '-', '--yes'), '--to-chat-server', 'v1.163.2'], {
      answers,
      stdin: `${token}\n`,
    })
    expect([exit, asked[0]?.body, asked[1]?.body]).toEqual([
      0,
      { kind: 'emergency_cve', toChatServer: '1.163.2' },
      { ...order, approvalToken: token },
    ])
  })

  test('all input is on the command line, except the token, which comes from a file or stdin', async () => {
    const file = join(await temporaryFolder(), 'token')
    await writeFile(file, `${token}\n`, { mode: 0o600 })
    for (const given of [{ at: file }, { at: '-', stdin: `${token}\nmore` }]) {
      const ran = await tenantry(line('--token-file', given.at, '--yes'), { answers, stdin: given.stdin ?? '' })
      expect([ran.exit, paths(ran.asked)]).toEqual([0, [plan, create]])
      expect(ran.asked[0]?.body).toEqual({ kind: 'emergency_cve', toChatServer: '1.163.2' })
      expect(ran.asked[1]?.body).toEqual({ ...order, approvalToken: token })
      expect(`${ran.stdout}${ran.stderr}`).not.toContain(token)
      expect(ran.stdout).toContain(`tenantry rollouts start ${id} --watch`)
    }
    expect(prompts.asked).toEqual([])
  })

  test('--json prints the API response, and the summary goes to stderr', async () => {
    const ran = await tenantry(line('--token-file', '-', '--yes', '--json'), { answers, stdin: token })
    expect(JSON.parse(ran.stdout)).toEqual(made())
    expect(ran.stderr).toContain('CVE-2026-12345')
  })

  const widest = (text: string) => Math.max(...text.split('\n').map((one) => displayWidth(bare(one))))

  test.each([
    ['stdout', 0, 60],
    ['nothing', 60, 60],
    ['both', 0, 0],
    ['stderr', 60, 0],
  ])('the summary fits the width of stderr, independent of stdout: %s redirected', async (_, columns, stderrColumns) => {
    const ran = await tenantry(line('--token-file', '-', '--yes', '--json'), { answers, stdin: token, columns, stderrColumns })
    const shown = stderrColumns > 0
    expect([widest(ran.stderr) <= 60, ran.stderr !== bare(ran.stderr)]).toEqual([shown, shown])
    if (!shown) expect(ran.stderr).toMatch(/^\d+ box.* to update in this order.* maintenance windows are ignored\.$/m)
  })

  test('--start starts it, also without blocked boxes', async () => {
    const ran = await tenantry(line('--token-file', '-', '--confirm', 'cve-2026-12345', '--start', '--skip-refused'), {
      answers,
      stdin: token,
    })
    expect([ran.exit, paths(ran.asked), ran.asked[2]?.body]).toEqual([0, [plan, create, start], { skipRefused: true }])
  })

  test('blocked boxes without --skip-refused send nothing', async () => {
    const ran = await tenantry(line('--token-file', '-', '--yes', '--start'), {
      answers: { ...answers, [plan]: planOf([...boxes, refused]) },
      stdin: token,
    })
    expect([ran.exit, paths(ran.asked)]).toEqual([5, [plan]])
    expect(ran.stderr).toContain('the host of cora is offline')
    expect(ran.stderr).toContain('--skip-refused')
  })

  test('the Idempotency-Key is sent', async () => {
    const ran = await tenantry(line('--token-file', '-', '--yes', '--idempotency-key', 'pager-17'), { answers, stdin: token })
    expect(ran.asked[1]?.headers.get('idempotency-key')).toBe('pager-17')
  })

  test('a repeated call with a key does not start a running rollout again', async () => {
    const again = { ...answers, [create]: { ...made(), status: 'pro' } }
    const ran = await tenantry(line('--token-file', '-', '--yes', '--idempotency-key', 'pager-17', '--start'), {
      answers: again,
      stdin: token,
    })
    expect([ran.exit, paths(ran.asked)]).toEqual([0, [plan, create]])
  })

  test('a repeated call with a key returns the first rollout, whatever the plan blocks now', async () => {
    const { plan: _, actions: __, lastEventId: ___, ...first } = made()
    const again = { ...answers, [plan]: planOf([...boxes, refused]), [create]: { ...made(), status: 'pro' } }
    const typed = line('--token-file', '-', '--yes', '--idempotency-key', 'pager-17', '--start')
    const found = await run(typed, { answers: { ...again, [list]: { ...known(), rollouts: [first] } }, stdin: token })
    expect([found.exit, paths(found.asked)]).toEqual([0, [list, plan, list, create]])
    const blocked = await run(typed, { answers: again, stdin: token })
    expect([blocked.exit, paths(blocked.asked)]).toEqual([5, [list, plan, list]])
  })

  test.each([
    ['the CVE', ['rollouts', 'emergency'], '--cve'],
    ['the reason', ['rollouts', 'emergency', '--cve', 'CVE-2026-12345'], '--reason'],
    ['a target', ['rollouts', 'emergency', ...flags.slice(0, 4)], '--to-chat-server'],
    ['who decided', ['rollouts', 'emergency', ...flags.slice(0, 6)], '--triggered-by'],
    ['the confirmation', line('--token-file', '-'), '--confirm CVE-2026-12345'],
    ['the token', line('--yes'), '--token-file'],
  ])('%s is never prompted for in a script: a usage error names the option', async (_, typed, instead) => {
    const ran = await tenantry(typed, { answers })
    expect([ran.exit, ran.stdout]).toEqual([2, ''])
    expect(ran.stderr).toContain(instead)
    expect(paths(ran.asked)).not.toContain(create)
  })

  test.each([
    ['a CVE that is none', ['--cve', 'heartbleed'], 'CVE-2026-12345'],
    ['a reason about another CVE', ['--reason', 'CVE-2025-9999 lets anybody read'], 'names a CVE other than'],
    ['a reason of a word', ['--reason', 'bad'], 'at least 20 characters'],
    ['another CVE as confirmation', ['--confirm', 'CVE-2026-12346', '--token-file', '-'], 'the CVE id does not match CVE-2026-12345'],
    ['--watch alone', ['--watch'], 'require --start'],
  ])('%s is refused before anything is created', async (_, more, says) => {
    const ran = await tenantry(line(...more), { answers, stdin: token })
    expect(ran.exit).toBeGreaterThan(0)
    expect(ran.stderr).toContain(says)
    expect(paths(ran.asked)).not.toContain(create)
  })

  test('the token cannot be passed on the command line or in the environment', async () => {
    const ran = await tenantry(line('--token', token), { answers })
    expect(ran.exit).toBe(2)
    const blind = await tenantry(line('--yes'), { answers, env: { TENANTRY_APPROVAL_TOKEN: token } })
    expect([blind.exit, paths(blind.asked)]).toEqual([2, [plan]])
  })
})

describe('before it is sent', () => {
  test('it shows affected boxes, downtime, blocked boxes and paused rollouts', async () => {
    const ran = await tenantry(line('--token-file', '-', '--yes'), {
      answers: { ...answers, [plan]: planOf([...boxes, refused]) },
      stdin: token,
      columns: 120,
    })
    const parts = [
      /^pauses +ro_0123456789abcdefghjk$/m,
      /^free_100 +1 +1 +1 +4 min +3 min$/m,
      /^ {2}cora: the host of cora is offline \[HOST_OFFLINE\]$/m,
      /v1\.163\.2 {2}unresolved; pinned at the first pull$/m,
      /^2 boxes to update in this order, 3 at a time\. Expected duration: 8 min; max downtime per box: 1 h 00 min\./m,
    ]
    expect(parts.filter((part) => !part.test(bare(ran.stderr)))).toEqual([])
  })

  test('it names the rollbacks it stops', async () => {
    const stopping = { ...planOf(boxes), stopsRollbacksOf: [rolloutId] }
    const ran = await tenantry(line('--token-file', '-', '--yes'), {
      answers: { ...answers, [plan]: stopping },
      stdin: token,
      columns: 120,
    })
    expect(ran.stderr).toMatch(new RegExp(`stops .*rollbacks of ${rolloutId}; their pending boxes stay as they are`))
  })

  test('a version that the daemon refuses ends the command', async () => {
    const wrong = problemAnswer(400, {
      code: 'VALIDATION',
      message: 'toMigrationsHead names 0009, and the last box migration is 0003',
      retryable: false,
    })
    const ran = await tenantry(line('--yes'), { answers: { ...answers, [plan]: wrong } })
    expect([ran.exit, paths(ran.asked)]).toEqual([2, [plan]])
  })

  test('it reports a manifest change after the plan', async () => {
    const ran = await tenantry(line('--token-file', '-', '--yes'), {
      answers: { ...answers, [create]: { ...made(), manifestRevision: 6 } },
      stdin: token,
    })
    expect(ran.stderr).toContain('The manifest has changed since the plan')
  })

  test('it reports a tag moved after the plan and continues', async () => {
    const image = 'registry.example/synapse:v1.163.2'
    const digest = (sign: string) => `sha256:${sign.repeat(64)}`
    const known = (sign: string) => ({ ...planOf(), images: [{ image, digest: digest(sign), from: 'registry' as const }] })
    const ran = await tenantry(line('--token-file', '-', '--yes'), {
      answers: { ...answers, [plan]: known('a'), [create]: { ...made(), plan: known('b') } },
      stdin: token,
    })
    expect([ran.exit, ran.stderr]).toEqual([
      0,
      expect.stringContaining(`${image} was ${digest('a')} in the plan and is ${digest('b')} now`),
    ])
  })
})

describe('for a person', () => {
  const whoAmI = 'GET /api/admin/v1/whoami'
  const who = (role: string, token: object | null = null) => ({
    account: { id: 'acc_0123456789abcdefghjk', name: 'anna', role },
    ...{ sessionId: 'ses_0123456789abcdefghjk', token, expiresAt: at('14:00:00'), setup: [], totp: true },
  })
  const asPerson = async (typed: readonly unknown[], more: Answers = {}, given: readonly string[] = []) => {
    prompts.answers.push(...typed)
    return tenantry(['rollouts', 'emergency', ...given], { answers: { ...answers, [whoAmI]: who('admin'), ...more }, person: true })
  }
  /** The requests after the caller is known. */
  const person = async (...given: Parameters<typeof asPerson>) => {
    const { asked, ...ran } = await asPerson(...given)
    return { ...ran, asked: asked.slice(1) }
  }

  test.each([
    [who('operator'), 'an emergency rollout requires the role admin; anna has the role operator'],
    [who('operator', { id: 'tok_0123456789abcdefghjk', name: 'ci' }), 'unset TENANTRY_TOKEN, then `tenantry login`'],
  ])('a caller without the right is refused before the first prompt', async (answer, says) => {
    const ran = await asPerson([], { [whoAmI]: answer })
    expect([ran.exit, paths(ran.asked), prompts.asked]).toEqual([4, [whoAmI], []])
    expect(ran.stderr.replace(/\s+/g, ' ')).toContain(says)
  })

  test.each([
    [['approval_token'], /^error: Emergencies cannot be created: no approval token\. fix: create one with `tenantryd approval-token`/],
    [['backup', 'recovery'], /^error: Emergencies cannot be created: no backup key or snapshot store, no separate recovery key/],
  ])('without %s nothing is planned or prompted: the first line says what is missing', async (lacks, says) => {
    const person = await asPerson([], { [list]: known(...lacks) })
    expect([person.exit, paths(person.asked), prompts.asked]).toEqual([6, [whoAmI], []])
    const script = await tenantry(line('--token-file', '-', '--yes'), { answers: { ...answers, [list]: known(...lacks) }, stdin: token })
    expect([script.exit, script.asked]).toEqual([6, []])
    for (const { stderr } of [person, script]) expect(stderr.replace(/\s+/g, ' ')).toMatch(says)
  })

  test('a missing recovery key is the first line, and prevents nothing', async () => {
    const ran = await tenantry(line('--token-file', '-', '--yes'), { answers: { ...answers, [list]: known('recovery') }, stdin: token })
    expect([ran.exit, ran.stderr.split('\n')[0]]).toEqual([
      0,
      expect.stringMatching(/^Emergencies can be created, but there is no separate recovery key/),
    ])
  })

  const typed = ['CVE-2026-12345', 'rooms of others can be read', '1.163.2', '', '', '', 'anna', 'CVE-2026-12345', token]

  test('it prompts step by step, shows running versions, and reads the token without echo', async () => {
    const ran = await person([...typed, false])
    expect(ran.exit).toBe(0)
    expect(ran.asked.at(-1)?.body).toEqual({ ...order, approvalToken: token })
    const asked = prompts.asked.map(({ kind, message }) => `${kind}: ${message}`)
    expect(asked).toEqual([
      expect.stringMatching(/^input: CVE id/),
      expect.stringMatching(/^input: How is it exploited/),
      'input: Synapse (chat server); runs 1.157.1 (3 boxes). New version (empty: unchanged)',
      expect.stringMatching(/^input: PostgreSQL \(database\); runs 17\.6 \(3 boxes\)/),
      expect.stringMatching(/^input: MinIO/),
      expect.stringMatching(/^input: Box migrations; runs 0000/),
      'input: Decided by',
      'input: Type CVE-2026-12345 to confirm:',
      'password: Approval token',
      `confirm: ${id} is queued. Start and watch it now?`,
    ])
    expect(prompts.asked.find(({ kind }) => kind === 'password')?.mask).toBe(false)
    expect(`${ran.stdout}${ran.stderr}`).not.toContain(token)
    expect(ran.stdout).toContain(`tenantry rollouts start ${id} --watch`)
  })

  test('a change after the plan requires a confirmation despite --start', async () => {
    const begin = `POST /admin/tenant-boxes/rollouts/${id}/start`
    const images = (digest: string | null, why?: string) => ({
      images: [{ image: 'registry.example/synapse:v1.163.2', digest, from: 'registry' as const, ...(why ? { why } : {}) }],
    })
    const asked = (more: object, now: object) =>
      person(
        [...typed, false],
        { [plan]: { ...planOf(), ...images(`sha256:${'a'.repeat(64)}`) }, [create]: { ...made(), ...now }, ...more },
        ['--start'],
      )
    const away = await asked({}, { plan: { ...planOf(), ...images(null, 'amsel: no answer within 5 s') } })
    expect([away.exit, paths(away.asked).includes(begin)]).toEqual([0, false])
    expect(away.stderr.replaceAll(/\s+/g, ' ')).toContain('in the plan and is unresolved now (amsel: no answer within 5 s)')
    const changed = await asked({}, { manifestRevision: 6 })
    expect([changed.exit, paths(changed.asked).includes(begin)]).toEqual([0, false])
  })

  test('it repeats a prompt after an invalid answer', async () => {
    const again = [
      'heartbleed',
      'CVE-2026-12345',
      'x',
      'rooms of others can be read',
      'vv1.163.2',
      '',
      '',
      '',
      '',
      '1.163.2',
      ...typed.slice(3),
      false,
    ]
    const ran = await person(again)
    expect([ran.exit, ran.asked.at(-1)?.body]).toEqual([0, { ...order, approvalToken: token }])
    expect(prompts.asked.map(({ message }) => message).filter((message) => message.startsWith('Invalid: '))).toHaveLength(4)
  })

  test('it prompts only for missing values', async () => {
    const ran = await person(['CVE-2026-12345', token, false], {}, flags)
    expect([ran.exit, prompts.asked.map(({ kind }) => kind)]).toEqual([0, ['input', 'password', 'confirm']])
  })

  test('a mistyped CVE may be repeated twice; then nothing is sent and no token is prompted', async () => {
    const ran = await person(['CVE-2026-1234', 'CVE-2026-12346', 'yes'], {}, flags)
    expect([ran.exit, paths(ran.asked)]).toEqual([1, [plan]])
    expect(prompts.asked.map(({ kind }) => kind)).toEqual(['input', 'input', 'input'])
    prompts.asked.length = 0
    const again = await person(['CVE-2026-1234', 'cve-2026-12345', token, false], {}, flags)
    expect([again.exit, paths(again.asked)]).toEqual([0, [plan, create]])
    expect(again.stderr + again.stdout).toContain('The CVE id does not match CVE-2026-12345.')
  })

  test('a mistyped token may be repeated twice', async () => {
    const wrong = problemAnswer(401, { code: 'AUTH', message: 'the approval token is wrong', retryable: false })
    const ran = await person(['CVE-2026-12345', 'mistyped', token, false], { [create]: [wrong, made()] }, flags)
    expect([ran.exit, ran.asked.map(({ body }) => (body as { approvalToken?: string }).approvalToken)]).toEqual([
      0,
      [undefined, 'mistyped', token],
    ])
    const never = await person(['CVE-2026-12345', 'a', 'b', 'c'], { [create]: wrong }, flags)
    expect([never.exit, paths(never.asked)]).toEqual([4, [plan, create, create, create]])
  })

  test('the last confirmation starts it without the blocked boxes and shows it', async () => {
    const done = aRolloutDetail([anAction('prima', { phase: 'pro', status: 'succeeded' })], { id, kind: 'emergency_cve', status: 'done' })
    const ran = await person(
      ['CVE-2026-12345', token, true],
      { [create]: made([...boxes, refused]), [`GET /admin/tenant-boxes/rollouts/${id}`]: done },
      flags,
    )
    expect(prompts.asked.at(-1)?.message).toBe(`${id} is queued. Start and watch it now, without 1 blocked box?`)
    expect(paths(ran.asked).slice(0, 3)).toEqual([plan, create, start])
    expect(ran.asked[2]?.body).toEqual({ skipRefused: true })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('done')])
  })
})

test('a shown emergency lists its boxes in phase order and the person who decided', async () => {
  const actions = [anAction('acme', { phase: 'free_100' }), anAction('magna', { phase: 'enterprise' }), anAction('prima', { phase: 'pro' })]
  const detail = aRolloutDetail(actions, {
    id,
    kind: 'emergency_cve',
    status: 'pro',
    cveId: 'CVE-2026-12345',
    triggeredBy: 'anna, on call',
  })
  const ran = await tenantry(['rollouts', 'show', id, '--boxes'], {
    answers: { [`GET /admin/tenant-boxes/rollouts/${id}`]: detail },
    columns: 120,
  })
  expect(ran.stdout).toContain('anna, on call')
  expect(ran.stdout.match(/acme|magna|prima/g)?.slice(0, 3)).toEqual(['prima', 'magna', 'acme'])
})
