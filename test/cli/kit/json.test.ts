import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'
import { aBoxRow, aHost, anAction, aPlan, aPlannedBox, aReport, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

const rollouts = '/admin/tenant-boxes/rollouts'
const cron = {
  jobKey: 'tenant-box-version-sync',
  expression: '30 3 * * *',
  timeZone: 'UTC',
  description: 'x',
  nextRunAt: null,
  lastRun: null,
}
const chain = { chain: 'admin', entries: 3, ok: true, head: { seq: 3, hash: 'ab'.repeat(32) } }

test.each<[string[], string, unknown]>([
  [['hosts', 'list'], 'GET /api/admin/v1/hosts', { hosts: [aHost(), { ...aHost(), newer: 'field' }] }],
  [['hosts', 'show', 'host-1'], 'GET /api/admin/v1/hosts/host-1', aHost()],
  [['hosts', 'invite', 'host-2'], 'POST /api/admin/v1/hosts/invites', { token: 't', name: 'host-2', expiresAt: at('02:15:00') }],
  [['boxes', 'list', '--tier', 'free'], 'GET /api/admin/v1/boxes', { boxes: [aBoxRow()], nextCursor: null }],
  [['rollouts', 'plan'], `POST ${rollouts}/plan`, aPlan([aPlannedBox('a')])],
  [['rollouts', 'create'], `POST ${rollouts}`, aRolloutDetail([anAction('a')])],
  [['rollouts', 'list'], `GET ${rollouts}`, { rollouts: [aRollout()], nextCursor: null }],
  [['rollouts', 'show', rolloutId, '--report'], `GET ${rollouts}/${rolloutId}/report`, aReport([anAction('a')])],
  [['rollouts', 'show', rolloutId, '--boxes'], `GET ${rollouts}/${rolloutId}`, aRolloutDetail([anAction('a')])],
  [['rollouts', 'show', rolloutId, '--plan'], `GET ${rollouts}/${rolloutId}`, aRolloutDetail([anAction('a')])],
  [['rollouts', 'pause', rolloutId, '--reason', 'lunch'], `POST ${rollouts}/${rolloutId}/pause`, aRollout({ status: 'paused' })],
  [['crons', 'list'], 'GET /api/admin/crons', { crons: [cron] }],
  [['crons', 'run', cron.jobKey], `POST /api/admin/crons/${cron.jobKey}/trigger`, { success: true, message: 'ok' }],
  [['audit', 'verify'], 'GET /api/admin/v1/audit/verify', { chains: [chain] }],
])('--json of %j prints the API response unchanged', async (line, endpoint, result) => {
  const ran = await tenantry([...line, '--json'], { answers: { [endpoint]: result } })
  expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, result])
  const shown = await tenantry(line, { answers: { [endpoint]: result }, columns: 80 })
  expect(shown.exit).toBe(0)
  expect(shown.stdout.trim()).not.toBe('')
})

test('filters are sent under the names of the API', async () => {
  const ran = await tenantry(['boxes', 'list', '--host', 'host-1', '--drift', 'major', '--limit', '5'], {
    answers: { 'GET /api/admin/v1/boxes': { boxes: [], nextCursor: null } },
  })
  expect(ran.asked[0]?.search).toBe('?host=host-1&limit=5&severity=major')
})

test('a failed result has its own exit code', async () => {
  const broken = { chains: [{ ...chain, ok: false, brokenAt: 2, reason: 'the hash differs' }] }
  expect((await tenantry(['audit', 'verify'], { answers: { 'GET /api/admin/v1/audit/verify': broken } })).exit).toBe(1)
  const failed = { success: false, message: 'no manifest' }
  expect((await tenantry(['crons', 'run', 'x-y'], { answers: { 'POST /api/admin/crons/x-y/trigger': failed } })).exit).toBe(1)
})

test('a response without a body prints nothing', async () => {
  const token = {
    id: 'tok_0123456789abcdefghjk',
    name: 'ci',
    role: 'viewer',
    prefix: 'tny_ab',
    createdBy: 'anna',
    createdAt: at('01:00:00'),
    expiresAt: at('03:00:00'),
    lastUsedAt: null,
  }
  const ran = await tenantry(['tokens', 'revoke', 'ci', '--json'], {
    answers: { 'GET /api/admin/v1/tokens': { tokens: [token] }, [`DELETE /api/admin/v1/tokens/${token.id}`]: undefined },
  })
  expect([ran.exit, ran.stdout]).toEqual([0, ''])
})

test('--json of rollouts show is the full record instead of the report', async () => {
  const record = aRolloutDetail([anAction('a')])
  const ran = await tenantry(['rollouts', 'show', rolloutId, '--json'], { answers: { [`GET ${rollouts}/${rolloutId}`]: record } })
  expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, record])
})
