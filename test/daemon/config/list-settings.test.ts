import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listSettings, loadConfig, variableNames } from '../../../src/daemon/config/index.ts'

const bytes = (fill: number) => Buffer.alloc(32, fill).toString('base64')
const mark = 'Hush0Hush0Hush0Hush0'

/** Every variable that may hold a secret, with one. */
const secrets: Record<string, string> = {
  TENANTRY_DATABASE: `postgres://tenantry:${mark}@db.example/tenantry`,
  TENANTRY_SECRET_KEY: bytes(1),
  TENANTRY_BACKUP_KEY: bytes(2),
  TENANTRY_RECOVERY_KEY: bytes(3),
  TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'AKIA1',
  TENANTRY_SNAPSHOT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: mark,
  TENANTRY_SNAPSHOT_UPKEEP_ACCESS_KEY_ID: 'AKIA2',
  TENANTRY_SNAPSHOT_UPKEEP_SECRET_ACCESS_KEY: mark,
  TENANTRY_OBJECT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'AKIA3',
  TENANTRY_OBJECT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: mark,
  TENANTRY_APPROVAL_TOKEN_SHA256: 'ab'.repeat(32),
  TENANTRY_REDIS: `rediss://user:${mark}@redis.example:6379`,
  TENANTRY_MAIL_SMTP: `smtps://user:${mark}@mail.example:465`,
  TENANTRY_STRIPE_SECRET_KEY: `sk_test_${mark}`,
  TENANTRY_STRIPE_WEBHOOK_SECRETS: `platform=whsec_${mark}`,
  TENANTRY_ALERTS_WEBHOOK_URL: `https://hooks.example/${mark}`,
  TENANTRY_ALERTS_WEBHOOK_SECRET: `whsec_${bytes(4)}`,
  TENANTRY_ALERTS_CHANNELS: JSON.stringify([
    { name: 'ops', form: 'slack', url: `https://hooks.example/${mark}` },
    { name: 'on-call', form: 'pagerduty', routingKey: mark },
  ]),
  TENANTRY_ADMIN_OIDC_CLIENT_SECRET: mark,
  TENANTRY_PUBLIC_URL: `https://user:${mark}@tenantry.example`,
}
/** Named like a secret, and none. */
const harmless = [
  'TENANTRY_METRICS_TOKEN_FILE',
  'TENANTRY_PROMETHEUS_URL',
  'TENANTRY_PROMETHEUS_TOKEN_FILE',
  'TENANTRY_AUTOMATION_REQUIRE_KEY',
  'TENANTRY_ADMIN_REQUIRE_TOTP',
]

test('no secret is listed, whichever setting holds it', () => {
  const settings = listSettings(loadConfig({ env: secrets }))
  const text = JSON.stringify(settings)
  for (const secret of [mark, bytes(1), bytes(2), bytes(3), bytes(4), 'ab'.repeat(32)]) expect(text).not.toContain(secret)
  expect(settings.find(({ key }) => key === 'database')?.value).toBe('postgres://tenantry:[secret]@db.example/tenantry')
  expect(settings.find(({ key }) => key === 'backupKey')).toEqual({
    ...{ key: 'backupKey', variable: 'TENANTRY_BACKUP_KEY', value: '[secret]', origin: 'environment' },
  })
})

test('a setting that is named like a secret is in the test above', () => {
  const named = [...variableNames().keys()].filter((name) => /SECRET|KEY|PASSWORD|TOKEN|CREDENTIAL|_URL|SMTP|WEBHOOK|SHA256/.test(name))
  expect(named.filter((name) => !(name in secrets) && !harmless.includes(name))).toEqual([])
})

test('each setting has its effective value and its origin; the environment wins over the file', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'settings-')), 'tenantryd.yaml')
  await writeFile(file, 'listen: 127.0.0.1:9000\nprobe: { spacingMs: 5000, consecutive: 2 }\nwindows: { pro: any }\n')
  const settings = listSettings(loadConfig({ file, env: { TENANTRY_PROBE_SPACING_MS: '7000' } }))
  const of = (key: string) => settings.filter((one) => one.key === key).map(({ value, origin }) => [value, origin])
  expect(settings).toHaveLength(variableNames().size)
  expect(of('listen')).toEqual([['127.0.0.1:9000', 'file']])
  expect(of('publicUrl')).toEqual([['http://127.0.0.1:9000', 'default']])
  expect(of('probe.spacingMs')).toEqual([['7000', 'environment']])
  expect(of('probe.consecutive')).toEqual([['2', 'file']])
  expect(of('probe.timeoutMs')).toEqual([['1800000', 'default']])
  expect(of('windows.pro')).toEqual([[null, 'file']])
  expect(of('admin.requireTotp')).toEqual([['false', 'default']])
  expect(of('backupKey')).toEqual([[null, 'default']])
})
