import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { raiseAlert } from '../../../src/daemon/alerts/index.ts'
import { migrate, openDatabase } from '../../../src/daemon/db/index.ts'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { stuckFence } from '../../support/alerts.ts'
import { anOidcProvider } from '../../support/oidc-provider.ts'

let env: Record<string, string>
beforeEach(async () => {
  env = { TENANTRY_DATA_DIR: await mkdtemp(join(tmpdir(), 'tenantryd-')) }
})

async function tenantryd(line: readonly string[]) {
  const out: string[] = []
  const exit = await runProgram(line, {
    env,
    stdin: (async function* () {})(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: () => undefined },
    signal: new AbortController().signal,
    clock: manualClock(),
    random: systemRandom,
  })
  return { exit, out: out.join('') }
}

const check = async (name: string) => {
  const { exit, out } = await tenantryd(['doctor', '--json'])
  return { exit, check: (JSON.parse(out).checks as { name: string; state: string; says: string }[]).find((one) => one.name === name) }
}
const webhook = {
  TENANTRY_ALERTS_WEBHOOK_URL: 'https://hooks.example/t0psecretpath',
  TENANTRY_ALERTS_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}

test('missing alert recipients are a warning', async () => {
  expect(await check('alerts')).toMatchObject({ exit: 0, check: { state: 'warn', says: expect.stringContaining('no alert recipients') } })
  env.TENANTRY_ALERTS_MAIL_TO = 'ops@school.example'
  expect(await check('alerts')).toMatchObject({ exit: 0, check: { state: 'warn', says: expect.stringContaining('into a folder') } })
})

test('without a mail server the doctor names the folder of the mails', async () => {
  expect(await check('mail')).toMatchObject({
    check: { state: 'warn', says: expect.stringContaining(`are files in ${join(env.TENANTRY_DATA_DIR as string, 'mail')}`) },
  })
  env.TENANTRY_MAIL_SMTP = 'smtps://u:hunter2@mx.example'
  expect(await check('mail')).toMatchObject({ check: { state: 'ok', says: 'sent by mx.example' } })
})

test('with a key of Stripe the doctor names webhook secrets that are missing; without one it says nothing of payments', async () => {
  expect((await check('payments')).check).toBeUndefined()
  env.TENANTRY_STRIPE_SECRET_KEY = 'sk_test_t0psecret'
  env.TENANTRY_STRIPE_WEBHOOK_SECRETS = 'platform=whsec_12345678'
  const says = 'no webhook secret of connect and thin: changes of vendor accounts and rejected usage are not noticed'
  expect(await check('payments')).toMatchObject({ exit: 0, check: { state: 'warn', says } })
  env.TENANTRY_STRIPE_WEBHOOK_SECRETS = 'platform=whsec_12345678,connect=whsec_12345679,thin=whsec_12345670'
  expect((await check('payments')).check).toMatchObject({ state: 'ok', says: 'Stripe in test mode, EUR, with all webhook secrets' })
})

test('alert recipients are shown without secrets', async () => {
  Object.assign(env, webhook, { TENANTRY_ALERTS_MAIL_TO: 'ops@school.example', TENANTRY_MAIL_SMTP: 'smtps://u:hunter2@mx.example' })
  const { check: found } = await check('alerts')
  expect(found).toMatchObject({
    state: 'ok',
    says: expect.stringContaining('mail to ops@school.example and a webhook at https://hooks.example;'),
  })
  const { out } = await tenantryd(['check-config'])
  expect(out).toContain('smtps://u:[secret]@mx.example')
  expect(`${out}${JSON.stringify(found)}`).not.toMatch(/hunter2|t0psecretpath|whsec_/)
})

test('abandoned messages and jobs are a warning', async () => {
  const { db, close } = openDatabase(`sqlite:${join(env.TENANTRY_DATA_DIR as string, 'tenantry.db')}`)
  await migrate(db)
  expect((await check('abandoned')).check).toBeUndefined()
  const alertId = await db.transaction().execute((tx) => raiseAlert(tx, manualClock(), stuckFence('north')))
  const at = '2026-01-05T02:00:00.000Z'
  const dead = {
    id: 'msg_1',
    alert_id: alertId,
    channel: 'webhook',
    target: 'https://hooks.example',
    status: 'dead',
    attempts: 12,
    event: 'raised',
    created_at: at,
  } as const
  await db.insertInto('alert_deliveries').values(dead).execute()
  await db.updateTable('jobs').set({ status: 'dead' }).execute()
  await close()
  expect((await check('abandoned')).check).toMatchObject({
    state: 'warn',
    says: '1 alert message and 1 job abandoned',
  })
})

test('channels are shown with their last outcome and without secrets', async () => {
  env.TENANTRY_ALERTS_CHANNELS = JSON.stringify([
    { name: 'ops', form: 'slack', url: 'https://hooks.example/t0psecretpath' },
    { name: 'on-call', form: 'pagerduty', routingKey: 't0psecretkey' },
    { name: 'room', form: 'matrix', url: 'https://chat.example', room: '!a:chat.example', token: 't0psecrettoken' },
  ])
  const { db, close } = openDatabase(`sqlite:${join(env.TENANTRY_DATA_DIR as string, 'tenantry.db')}`)
  await migrate(db)
  const alert_id = await db.transaction().execute((tx) => raiseAlert(tx, manualClock(), stuckFence('north')))
  const at = '2026-01-05T02:00:00.000Z'
  const sent = {
    alert_id,
    channel: 'slack',
    target: 'ops',
    status: 'sent',
    attempts: 1,
    created_at: at,
    sent_at: at,
    event: 'raised',
  } as const
  const failed = { ...sent, channel: 'pagerduty', target: 'on-call', status: 'dead', last_error: 'answered 400', sent_at: null } as const
  await db
    .insertInto('alert_deliveries')
    .values([
      { ...sent, id: 'msg_1' },
      { ...failed, id: 'msg_2' },
    ])
    .execute()
  await close()
  const { check: outcomes } = await check('alert channels')
  expect(outcomes).toMatchObject({
    state: 'warn',
    says: `ops: sent at ${at}; on-call: failed (answered 400) at ${at}; room: no message yet`,
    mend: '`tenantry alerts test on-call` shows whether it works again',
  })
  const { check: configured } = await check('alerts')
  expect(configured).toMatchObject({ state: 'ok', says: expect.stringContaining('ops (slack) and on-call (pagerduty) and room (matrix)') })
  const { out } = await tenantryd(['check-config'])
  expect(out).toContain('https://hooks.example/…')
  expect(`${out}${JSON.stringify([outcomes, configured])}`).not.toContain('t0psecret')
})

test('the doctor asks the provider of the company account; without one it says nothing of it', async () => {
  expect((await check('company account')).check).toBeUndefined()
  const provider = await anOidcProvider()
  Object.assign(env, {
    TENANTRY_ADMIN_OIDC_ISSUER: provider.url,
    TENANTRY_ADMIN_OIDC_CLIENT_ID: 'tenantry',
    TENANTRY_ADMIN_OIDC_ROLES_ADMIN: 'admins',
  })
  const says = `${provider.url} answers; redirect address http://127.0.0.1:8440/console/login/provider`
  expect((await check('company account')).check).toMatchObject({ state: 'ok', says })
  await provider.stop()
  expect((await check('company account')).check).toMatchObject({ state: 'failed', says: expect.stringContaining(provider.url) })
})
