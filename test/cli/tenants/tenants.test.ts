import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Tenant } from '../../../src/core/tenants/index.ts'
import { parseWindow } from '../../../src/core/wall-clock/index.ts'
import { problemAnswer, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { aBoxDetail, at } from '../../support/records.ts'

// The clock is at Monday, 5 January 2026, 02:00 UTC.

const nights = parseWindow('mon-fri 02:00-05:00')
const window = {
  window: nights,
  timeZone: 'Europe/Berlin',
  own: true,
  opensAt: '2026-01-05T01:00:00.000Z',
  closesAt: '2026-01-05T04:00:00.000Z',
}
const aTenant = (given: Partial<Tenant> = {}): Tenant => ({
  id: 'ten_1',
  slug: 'anna-schule',
  name: 'Anna-Schule',
  chatDomain: 'chat.anna.example',
  plan: 'light',
  tier: 'free',
  status: 'active',
  suspendedReason: null,
  suspendedCause: null,
  resumedUntil: null,
  schoolId: 'ten_1',
  orgId: 'ten_1',
  branding: { tenantName: 'Anna-Schule', color: '#0b5394', textColor: '#ffffff', logoPath: '/api/public/logos/logo_1' },
  featureFlags: {},
  paymentCustomerId: null,
  billingEmail: null,
  homeserver: null,
  timeZone: 'Europe/Berlin',
  maintenanceWindow: nights,
  window,
  createdAt: at('01:00:00'),
  ...given,
})
const none = { count: 0, bytes: 0 }
const noFiles = { usedBytes: 0, quotaBytes: 1024 ** 3, kept: none, deleted: none, underWay: none, largestSpaces: [] }
const patch = 'PATCH /api/admin/v1/tenants/anna-schule'
const closed = { ...window, own: false, opensAt: '2026-01-06T01:00:00.000Z', closesAt: '2026-01-06T04:00:00.000Z' }

test('list shows the maintenance windows', async () => {
  const tenants = [
    aTenant(),
    aTenant({ slug: 'beta', window: closed, maintenanceWindow: null }),
    aTenant({ slug: 'cora', window: null, name: 'Co\u001b[31mra' }),
  ]
  const { stdout } = await tenantry(['tenants', 'list'], {
    answers: { 'GET /api/admin/v1/tenants': { tenants, nextCursor: 'cora' } },
    columns: 140,
    env: { NO_COLOR: '1' },
  })
  const lines = stdout.split('\n')
  expect(lines[1]).toMatch(/^anna-schule +Anna-Schule +light +active +chat\.anna\.example +mon-fri 02:00-05:00 Europe\/Berlin +now$/)
  expect(lines[2]).toMatch(/mon-fri 02:00-05:00 Europe\/Berlin \(tier default\) +in 23 h$/)
  expect(lines[3]).toMatch(/Co\ufffd\[31mra .* any time +-$/)
  expect(stdout).toContain('--cursor cora')
})

test("show prints the opening in the tenant's time zone and in UTC", async () => {
  const shown = async (tenant: Tenant) =>
    (
      await tenantry(['tenants', 'show', 'anna-schule'], {
        answers: { 'GET /api/admin/v1/tenants/anna-schule': { ...tenant, files: noFiles } },
      })
    ).stdout
  expect(await shown(aTenant())).toContain('open until Mon 2026-01-05 05:00 Europe/Berlin (2026-01-05 04:00 UTC)')
  expect(await shown(aTenant({ window: closed }))).toContain('opens Tue 2026-01-06 02:00 Europe/Berlin (2026-01-06 01:00 UTC)')
  expect(await shown(aTenant({ window: null, timeZone: null }))).toMatch(/window +any time/)
  expect(await shown(aTenant())).toMatch(/colour +#0b5394\nlogo +\/api\/public\/logos\/logo_1/)
})

test('show prints the file storage, the quota and the largest spaces', async () => {
  const mb = 1024 ** 2
  const files = {
    ...{ usedBytes: 90 * mb, quotaBytes: 100 * mb, kept: { count: 40, bytes: 60 * mb }, deleted: { count: 2, bytes: 20 * mb } },
    underWay: { count: 1, bytes: 10 * mb },
    largestSpaces: [
      { id: 'spc_1', name: '4\u001b[31mb', count: 30, bytes: 50 * mb },
      { id: 'spc_2', name: 'Choir', count: 1, bytes: 512 * 1024 },
    ],
  }
  const shown = async (given: object) =>
    await tenantry(['tenants', 'show', 'anna-schule', ...('json' in given ? ['--json'] : [])], {
      answers: { 'GET /api/admin/v1/tenants/anna-schule': { ...aTenant(), files: { ...files, ...given } } },
      columns: 140,
      env: { NO_COLOR: '1' },
    })
  const { stdout } = await shown({})
  expect(stdout).toMatch(/^files +90 MB of 100 MB$/m)
  expect(stdout).toMatch(/^ +40 files, 60 MB$/m)
  expect(stdout).toMatch(/^ +2 deleted, not erased yet, 20 MB$/m)
  expect(stdout).toMatch(/^ +1 upload in progress, 10 MB reserved$/m)
  expect(stdout).toMatch(/^largest spaces +50 MB in 30 files: 4\ufffd\[31mb \(spc_1\)$/m)
  expect(stdout).toMatch(/^ +0\.5 MB in 1 file: Choir \(spc_2\)$/m)
  expect((await shown({ usedBytes: 101 * mb })).stdout).toContain('101 MB of 100 MB: full, uploads are refused')
  expect(JSON.parse((await shown({ json: true })).stdout).files).toMatchObject(files)
})

test('show of a box prints the window too', async () => {
  const ran = await tenantry(['boxes', 'show', 'anna-schule'], {
    answers: { 'GET /api/admin/v1/boxes/anna-schule': aBoxDetail({ window: closed }) },
    columns: 160,
    env: { NO_COLOR: '1' },
  })
  expect(ran.stdout).toMatch(/window +mon-fri 02:00-05:00 Europe\/Berlin \(tier default\); opens Tue 2026-01-06 02:00/)
})

describe('window', () => {
  const asked = async (...options: string[]) => {
    const ran = await tenantry(['tenants', 'window', 'anna-schule', ...options], { answers: { [patch]: aTenant() } })
    return { ...ran, body: ran.asked[0]?.body }
  }

  test.each([
    [
      ['--days', 'mon,tue', '--from', '02:00', '--to', '05:00', '--time-zone', 'Europe/Berlin'],
      { timeZone: 'Europe/Berlin', maintenanceWindow: [{ days: ['mon', 'tue'], from: '02:00', to: '05:00' }] },
    ],
    [['--days', 'mon-fri', '--from', '02:00', '--to', '05:00'], { maintenanceWindow: nights }],
    [['--at', 'mon-fri 02:00-05:00; sun 22:00-06:00'], { maintenanceWindow: parseWindow('mon-fri 02:00-05:00; sun 22:00-06:00') }],
    [['--time-zone', 'Asia/Tokyo'], { timeZone: 'Asia/Tokyo' }],
    [['--any-time'], { maintenanceWindow: 'any' }],
    [['--clear'], { timeZone: null, maintenanceWindow: null }],
  ])('%j', async (options, body) => {
    expect(await asked(...options)).toMatchObject({ exit: 0, body })
  })

  test('--json prints the API response', async () => {
    expect(JSON.parse((await asked('--any-time', '--json')).stdout)).toEqual(aTenant())
  })

  test.each([
    [[], /nothing to change/],
    [['--days', 'mon'], /required together/],
    [['--from', '02:00', '--to', '05:00'], /required together/],
    [['--any-time', '--clear'], /pass only one of/],
    [['--clear', '--time-zone', 'UTC'], /--clear also resets the time zone/],
    [['--days', 'moonday', '--from', '02:00', '--to', '05:00'], /moonday is not a day of the week/],
    [['--days', 'mon', '--from', '2', '--to', '5'], /must be days and times/],
  ])('%j is a usage error without a request', async (options, why) => {
    const ran = await asked(...options)
    expect([ran.exit, ran.stdout, ran.asked.length]).toEqual([2, '', 0])
    expect(ran.stderr).toMatch(why)
    expect(ran.stderr).toContain('tenantry tenants window anna-schule --days mon-fri')
  })

  test('an unknown time zone is refused by the daemon', async () => {
    const answers = { [patch]: problemAnswer(400, { code: 'VALIDATION', message: 'timeZone must be a time zone', retryable: false }) }
    const ran = await tenantry(['tenants', 'window', 'anna-schule', '--time-zone', 'Mars/Olympus'], { answers })
    expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('timeZone must be a time zone')])
  })
})

describe('tenant fields', () => {
  test('create and update send the options', async () => {
    const created = await tenantry(
      ['tenants', 'create', 'anna-schule', '--name', 'Anna', '--plan', 'light', '--chat-domain', 'chat.anna.example'],
      {
        answers: { 'POST /api/admin/v1/tenants': aTenant() },
      },
    )
    expect(created.asked[0]?.body).toEqual({ slug: 'anna-schule', name: 'Anna', plan: 'light', chatDomain: 'chat.anna.example' })
    const options = [
      '--plan',
      'pro',
      '--brand',
      'Anna!',
      '--color',
      'none',
      '--flag',
      'a=on,b=off',
      '--flag',
      'c=clear',
      '--payment-customer',
      'none',
    ]
    const updated = await tenantry(['tenants', 'update', 'anna-schule', ...options], { answers: { [patch]: aTenant() } })
    expect(updated.asked[0]?.body).toEqual({
      plan: 'pro',
      branding: { tenantName: 'Anna!', color: null },
      featureFlags: { a: true, b: false, c: null },
      paymentCustomerId: null,
    })
  })

  test.each([[[]], [['--flag', 'a=maybe']], [['--flag', 'a']], [['--flag', 'a=toString']]])(
    'update %j is a usage error',
    async (options) => {
      const ran = await tenantry(['tenants', 'update', 'anna-schule', ...options], { answers: {} })
      expect([ran.exit, ran.asked.length]).toEqual([2, 0])
    },
  )

  test('suspend prompts, and show prints the reason', async () => {
    const shut = ['tenants', 'suspend', 'anna-schule', '--reason', 'unpaid']
    const answers = { 'POST /api/admin/v1/tenants/anna-schule/suspend': aTenant({ status: 'suspended', suspendedReason: 'unpaid' }) }
    const known = { ...answers, 'GET /api/admin/v1/tenants/anna-schule': aTenant() }
    expect((await tenantry(shut, { answers: known })).exit).toBe(2)
    const ran = await tenantry([...shut, '--yes'], { answers })
    expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { reason: 'unpaid' }])
    expect(ran.stdout).toContain('suspended: unpaid')
    const resumed = { 'POST /api/admin/v1/tenants/anna-schule/resume': aTenant() }
    expect((await tenantry(['tenants', 'resume', 'anna-schule'], { answers: resumed })).exit).toBe(0)
    const ended = { suspendedReason: 'billing', suspendedCause: 'plan_ended', resumedUntil: '2026-01-24T23:59:59.000Z' } as const
    const forTime = { 'POST /api/admin/v1/tenants/anna-schule/resume': aTenant(ended) }
    const timed = await tenantry(['tenants', 'resume', 'anna-schule', '--until', '2026-01-24'], { answers: forTime })
    expect(timed.asked[0]?.body).toEqual({ until: '2026-01-24T23:59:59.000Z' })
    expect(timed.stdout).toMatch(
      /active until 2026-01-24 .*then suspended again: billing[\s\S]*cause: plan_ended; to lift it: create a subscription/,
    )
    expect((await tenantry(['tenants', 'resume', 'anna-schule', '--until', 'soon'], { answers: forTime })).exit).toBe(2)
  })
})

test('export writes every page to a new file that only its owner reads', async () => {
  const to = join(await temporaryFolder(), 'anna.ndjson')
  const path = 'POST /api/admin/v1/tenants/anna-schule/export'
  const pages = [
    { rows: [{ table: 'users', row: { id: 'usr_1' } }], nextCursor: 'more' },
    { rows: [{ table: 'tasks', row: { id: 'tsk_1' } }], nextCursor: null },
  ]
  const ran = await tenantry(['tenants', 'export', 'anna-schule', '--to', to], { answers: { [path]: pages } })
  expect([ran.exit, ran.asked.map(({ body }) => body)]).toEqual([0, [{}, { cursor: 'more' }]])
  expect(ran.stdout).toContain('2 rows of 2 tables of anna-schule')
  const lines = (await readFile(to, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([
    expect.objectContaining({ format: 'tenantry.tenant-export/v1', tenant: 'anna-schule' }),
    ...pages.flatMap(({ rows }) => rows),
    { end: true, rows: 2 },
  ])
  expect((await stat(to)).mode & 0o777).toBe(0o600)
  const again = await tenantry(['tenants', 'export', 'anna-schule', '--to', to], { answers: { [path]: pages } })
  expect([again.exit, again.asked]).toEqual([2, []])
  expect(again.stderr).toContain('EEXIST')
})

test('an export that fails leaves no file behind', async () => {
  const to = join(await temporaryFolder(), 'anna.ndjson')
  const answers = {
    'POST /api/admin/v1/tenants/anna-schule/export': problemAnswer(404, {
      code: 'NOT_FOUND',
      message: 'Tenant anna-schule does not exist',
      retryable: false,
    }),
  }
  expect((await tenantry(['tenants', 'export', 'anna-schule', '--to', to], { answers })).exit).not.toBe(0)
  await expect(stat(to)).rejects.toThrow('ENOENT')
})

test('delete names what is lost, asks for the slug, and lists the steps that are missing', async () => {
  const path = '/api/admin/v1/tenants/anna-schule'
  const contents = { users: 12, spaces: 4, files: 120, fileBytes: 5 * 1024 ** 2, tasks: 3, boards: 1, runs: 9, modules: 0, snapshots: 8 }
  const deletion = {
    slug: 'anna-schule',
    name: 'Anna-Schule',
    state: 'none',
    reason: null,
    contents,
    blockers: [],
    remains: ['8 snapshots there'],
  }
  const answers = { [`GET ${path}/deletion`]: deletion, [`POST ${path}/delete`]: { ...deletion, state: 'deleting' } }
  const command = ['tenants', 'delete', 'anna-schule', '--reason', 'contract ended']
  const asked = await tenantry(command, { answers })
  expect([asked.exit, asked.asked.map(({ method }) => method)]).toEqual([2, ['GET']]) // without a terminal
  expect(asked.stderr).toMatch(
    /12 users, 4 spaces[\s\S]*120 files \(5 MB\)[\s\S]*1 board, 9 runs[\s\S]*8 snapshots[\s\S]*8 snapshots there/,
  )
  const ran = await tenantry([...command, '--yes'], { answers })
  expect([ran.exit, ran.asked[1]?.body]).toEqual([0, { confirm: 'anna-schule', reason: 'contract ended' }])
  expect(ran.stdout).toContain('is being deleted by a job')
  const blockers = [
    'Tenant anna-schule is active. fix: tenantry tenants suspend anna-schule --reason <why>',
    'Box anna-schule exists. fix: x',
  ]
  const blocked = await tenantry([...command, '--yes'], { answers: { ...answers, [`GET ${path}/deletion`]: { ...deletion, blockers } } })
  expect([blocked.exit, blocked.asked.length]).toEqual([5, 1])
  expect(blocked.stderr).toMatch(/1\. Tenant anna-schule is active[\s\S]*2\. Box anna-schule exists/)
})
