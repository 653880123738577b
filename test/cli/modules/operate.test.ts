import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/modules'
const performance = { p95Ms: 5, p99Ms: 500, errorRate: 0.125, violations: [{ kind: 'permission', count: 2 }], healthy: false }
const health = { moduleId: 'attendance', name: 'Attendance', version: '1.1.0', activeInstallations: 3, performance }
const listed = {
  ...{ moduleId: 'attendance', name: 'Attendance', version: '1.1.0', type: 'A', featureFlag: 'attendance', status: 'active' },
  price: { cents: 499, currency: 'eur' },
  ...{ installations: 4, activeInstallations: 3, withdrawn: [{ version: '1.0.0', reason: 'wrong \u001b[31msums', at: at('00:00:00') }] },
}

test('list and show print modules with their withdrawn versions', async () => {
  const history = [{ from: at('00:05:00'), runs: 40, p95Ms: 50, p99Ms: 250, errorRate: 0.05 }]
  const answers = { [`GET ${base}`]: { modules: [listed] }, 'GET /api/admin/modules/health/attendance': { ...health, history } }
  const list = await tenantry(['modules', 'list'], { answers })
  expect(list.stdout).toMatch(/attendance +1\.1\.0 .*active +4\.99 EUR a month +4 +3/)
  expect(JSON.parse((await tenantry(['modules', 'list', '--json'], { answers })).stdout)).toEqual({ modules: [listed] })
  const { stdout } = await tenantry(['modules', 'show', 'attendance'], { answers })
  expect(stdout).toMatch(/1\.0\.0 +2 h ago +wrong .*sums/)
  expect(stdout).toMatch(/price +4\.99 EUR a month/)
  expect(stdout).toMatch(/errors +12\.5 %/)
  expect(stdout).toMatch(/\d\d:05 UTC +40 +5 % +50 ms +250 ms/)
  expect(stdout).not.toContain('\u001b[31m')
})

test('health prints errors, durations and violations', async () => {
  const ran = await tenantry(['modules', 'health'], { answers: { 'GET /api/admin/modules/health': { modules: [health] } } })
  expect(ran.stdout).toMatch(/attendance +1\.1\.0 +unhealthy +3 +12\.5 % +5 ms +500 ms +permission 2/)
})

test('audit prints the entries of a tenant, and passes the filters on', async () => {
  const entry = { at: at('00:00:00'), actor: 'user:mia', action: 'module.installed', moduleId: 'attendance', version: '1.0.0', data: {} }
  const answers = { 'GET /api/admin/modules/audit/acme': { entries: [entry] } }
  const ran = await tenantry(['modules', 'audit', 'acme', '--module', 'attendance', '--limit', '5'], { answers })
  expect(ran.asked[0]?.search).toBe('?moduleId=attendance&limit=5')
  expect(ran.stdout).toMatch(/module\.installed +attendance +1\.0\.0 +user:mia/)
})

test('withdraw asks, and names the command that restores', async () => {
  const answers = { [`POST ${base}/attendance/withdraw`]: { moduleId: 'attendance', versions: ['1.0.0', '1.1.0'] } }
  const ran = await tenantry(['modules', 'withdraw', 'attendance', '--reason', 'wrong sums', '--yes'], { answers })
  expect(ran.asked[0]?.body).toEqual({ reason: 'wrong sums' })
  expect(ran.stdout).toContain('Withdrawn: attendance 1.0.0, 1.1.0. To run it again: tenantry modules restore attendance')
  const known = { ...answers, [`GET ${base}`]: { modules: [{ moduleId: 'attendance' }] } }
  const refused = await tenantry(['modules', 'withdraw', 'attendance', '--reason', 'wrong sums'], { answers: known })
  expect([refused.exit, refused.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
  const unknown = await tenantry(['modules', 'withdraw', 'atendance', '--reason', 'wrong sums'], { answers: known })
  expect([unknown.exit, unknown.stderr]).toEqual([3, expect.stringContaining('module atendance is not approved')])
})

test('restore passes one version on', async () => {
  const answers = { [`POST ${base}/attendance/restore`]: { moduleId: 'attendance', versions: ['1.0.0'] } }
  const ran = await tenantry(['modules', 'restore', 'attendance', '--only', '1.0.0'], { answers })
  expect([ran.asked[0]?.body, ran.stdout.trim()]).toEqual([{ version: '1.0.0' }, 'Restored: attendance 1.0.0'])
})

const service = {
  ...{ moduleId: 'attendance', url: 'https://attendance.example', host: 'attendance.example', failures: 2, restUntil: null },
  ...{ waiting: 1, withoutConsent: 0, updatedAt: at('00:00:00') },
}

test('upstream shows the service, sets its address and prints a new secret', async () => {
  const path = `${base}/attendance/upstream`
  const answers = { [`GET ${path}`]: service, [`PUT ${path}`]: { ...service, signingSecret: 'whsec_new' } }
  const shown = await tenantry(['modules', 'upstream', 'attendance'], { answers })
  expect(shown.stdout).toMatch(/failures +2 in a row\n.*1 installation\n/)
  expect(shown.stdout).not.toContain('secret')
  const set = await tenantry(['modules', 'upstream', 'attendance', 'https://attendance.example'], { answers })
  expect([set.asked[0]?.body, set.stdout]).toEqual([
    { url: 'https://attendance.example', rotateSecret: false },
    expect.stringContaining('whsec_new'),
  ])
})

test('upstream asks before it replaces the secret, and keeps the address', async () => {
  const path = `${base}/attendance/upstream`
  const answers = { [`GET ${path}`]: service, [`PUT ${path}`]: { ...service, signingSecret: 'whsec_new' } }
  const line = ['modules', 'upstream', 'attendance', '--rotate-secret']
  const refused = await tenantry(line, { answers })
  expect([refused.exit, refused.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
  const set = await tenantry([...line, '--yes'], { answers })
  expect(set.asked.at(-1)?.body).toEqual({ url: 'https://attendance.example', rotateSecret: true })
})
