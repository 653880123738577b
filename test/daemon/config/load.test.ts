import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { loadConfig, variableNames } from '../../../src/daemon/config/index.ts'
import { packageRoot } from '../../../src/node/index.ts'

const key = Buffer.alloc(32, 7).toString('base64')

async function aFile(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'tenantry-config-')), 'tenantryd.yaml')
  await writeFile(file, text)
  return file
}

/** The paths that were refused. */
function refusedPaths(file: string | undefined, env: Record<string, string> = {}): readonly string[] {
  try {
    loadConfig({ env, ...(file ? { file } : {}) })
  } catch (error) {
    if (isProblem(error, 'CONFIG_INVALID')) return error.details?.map(({ path }) => path) ?? [error.message]
    throw error
  }
  return []
}

test('without file and environment the embedded defaults stand, on loopback', () => {
  const config = loadConfig({ env: {} })
  expect(config).toMatchObject({ listen: '127.0.0.1:8440', baseUrl: 'http://127.0.0.1:8440', production: false, totpRequired: false })
  expect(config.databaseUrl).toMatch(/^sqlite:\/.*\.tenantry\/tenantry\.db$/)
  expect(Object.isFrozen(config)).toBe(true)
})

test.each([
  ['TENANTRY_LISTEN', 'listen'],
  ['TENANTRY_DATA_DIR', 'dataDir'],
  ['TENANTRY_DATABASE', 'database'],
  ['TENANTRY_SECRET_KEY', 'secretKey'],
  ['TENANTRY_BACKUP_KEY', 'backupKey'],
  ['TENANTRY_SNAPSHOT_STORE', 'snapshotStore'],
  ['TENANTRY_APPROVAL_TOKEN_SHA256', 'approvalTokenSha256'],
  ['TENANTRY_PUBLIC_URL', 'publicUrl'],
  ['TENANTRY_LOG', 'log'],
  ['TENANTRY_PROBE_SPACING_MS', 'probe.spacingMs'],
  ['TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID', 'snapshotStoreCredentials.accessKeyId'],
  ['TENANTRY_RECOVERY_KEY', 'recoveryKey'],
  ['TENANTRY_SNAPSHOT_UPKEEP_ACCESS_KEY_ID', 'snapshotUpkeep.accessKeyId'],
  ['TENANTRY_SNAPSHOT_UPKEEP_SECRET_ACCESS_KEY', 'snapshotUpkeep.secretAccessKey'],
  ['TENANTRY_ADMIN_REQUIRE_TOTP', 'admin.requireTotp'],
  ['TENANTRY_STRIPE_SECRET_KEY', 'stripe.secretKey'],
  ['TENANTRY_STRIPE_WEBHOOK_SECRETS', 'stripe.webhookSecrets'],
  ['TENANTRY_STRIPE_API', 'stripe.api'],
])('%s sets %s', (variable, path) => {
  expect(variableNames().get(variable)?.join('.')).toBe(path)
})

test('the environment wins over the file, key by key', async () => {
  const file = await aFile('listen: 127.0.0.1:1\nprobe:\n  spacingMs: 5\n  consecutive: 4\n')
  const config = loadConfig({ file, env: { TENANTRY_PROBE_SPACING_MS: '7' } })
  expect(config).toMatchObject({ listen: '127.0.0.1:1', probe: { spacingMs: 7, consecutive: 4 } })
})

test('every key that is unknown or wrong is refused with its path, all at once', async () => {
  const file = await aFile('lisen: 1\nprobe:\n  spacing: 5\n  consecutive: 0\nsecretKey: c2hvcnQ=\n')
  expect([...refusedPaths(file, { TENANTRY_LISTN: 'x', TENANTRY_LOG: 'loud' })].sort()).toEqual(
    ['TENANTRY_LISTN', 'lisen', 'log', 'probe.consecutive', 'probe.spacing', 'secretKey.0'].sort(),
  )
})

test('a wrong value from the environment names its variable', () => {
  const load = () => loadConfig({ env: { TENANTRY_PROBE_CONSECUTIVE: 'many' } })
  expect(load).toThrow(/probe\.consecutive .*\(TENANTRY_PROBE_CONSECUTIVE\)/)
})

test.each(['', '# nothing\n'])('a file without settings is as none: %j', async (text) => {
  expect(refusedPaths(await aFile(text))).toEqual([])
})

test.each(['just words\n', '- a\n- b\n', 'a: [\n', 'listen: 1\nlisten: 2\n'])('what holds no settings is refused: %j', async (text) => {
  expect(refusedPaths(await aFile(text), { TENANTRY_PROBE_SPACING_MS: '7' })).toHaveLength(1)
})

test('a value where a group belongs is refused, also when the environment sets part of the group', async () => {
  expect(refusedPaths(await aFile('probe: 5\n'), { TENANTRY_PROBE_SPACING_MS: '7' })).toEqual(['probe'])
})

test('a missing file is refused by name', () => {
  expect(refusedPaths('/nowhere/tenantryd.yaml')[0]).toMatch(/Cannot read \/nowhere\/tenantryd\.yaml: ENOENT/)
})

test('variables of the other programs are left alone', () => {
  expect(refusedPaths(undefined, { TENANTRY_URL: 'x', TENANTRY_TOKEN: 'y', TENANTRY_AGENT_DIR: 'z', PATH: '/bin' })).toEqual([])
})

test('a settings file that names the snapshot mode that is gone still loads', async () => {
  const file = await aFile('fence: { snapshot: { pro: alongside } }')
  expect(loadConfig({ env: {}, file }).fence.snapshot).toEqual({ free: 'hot', pro: 'hot', enterprise: 'hot' })
  expect(refusedPaths(file, { TENANTRY_FENCE_SNAPSHOT_FREE: 'later' })).toEqual(['fence.snapshot.free'])
})

test('a list of keys rotates: the first seals', () => {
  const other = Buffer.alloc(32, 8).toString('base64')
  expect(loadConfig({ env: { TENANTRY_SECRET_KEY: `${other},${key}` } }).secretKey).toEqual([other, key])
})

test.each([
  [{}, false],
  [{ TENANTRY_PUBLIC_URL: 'http://localhost:8440' }, false],
  [{ TENANTRY_PUBLIC_URL: 'https://tenantry.example' }, true],
  [{ TENANTRY_PUBLIC_URL: 'https://127.example.org' }, true],
  [{ TENANTRY_DATABASE: 'postgres://db/tenantry' }, true],
  [{ TENANTRY_LISTEN: '0.0.0.0:8440' }, true],
] as const)('%j is production: %s, which decides whether TOTP is required', (env, production) => {
  expect(loadConfig({ env })).toMatchObject({ production, totpRequired: production })
})

test('every settings file that the package carries loads', async () => {
  const files = (await readdir(packageRoot('config'), { recursive: true })).filter((name) => /tenantryd.*\.ya?ml$/.test(name))
  for (const file of files) expect(refusedPaths(packageRoot('config', file)), file).toEqual([])
})

test.each([
  ['s3+http://8.8.8.8:9000/bucket', /snapshotStore may be s3\+http:\/\/ only for a loopback or private address/],
  ['s3://s3.example', /snapshotStore must be s3:\/\/host\/bucket/],
  ['file:snapshots', /snapshotStore must be an absolute path/],
])('a snapshot store %s is refused with the valid form', (store, says) => {
  expect(() => loadConfig({ env: { TENANTRY_SNAPSHOT_STORE: store } })).toThrow(says)
})

test('keys of the payment provider never print', () => {
  const TENANTRY_STRIPE_WEBHOOK_SECRETS = 'platform=whsec_platform1, connect=whsec_connect12,connect=whsec_connect34,thin=whsec_thin5678'
  const { stripe } = loadConfig({ env: { TENANTRY_STRIPE_SECRET_KEY: 'sk_test_abcdef', TENANTRY_STRIPE_WEBHOOK_SECRETS } })
  expect(stripe.secretKey?.reveal()).toBe('sk_test_abcdef')
  expect(stripe.webhookSecrets.map(({ endpoint, secret }) => `${endpoint} ${secret.reveal()}`)).toEqual([
    'platform whsec_platform1',
    'connect whsec_connect12',
    'connect whsec_connect34',
    'thin whsec_thin5678',
  ])
  expect(JSON.stringify(stripe)).not.toMatch(/abcdef|whsec_/)
})

test.each([
  [{ TENANTRY_STRIPE_SECRET_KEY: 'pk_live_abc' }, 'stripe.secretKey'],
  [{ TENANTRY_STRIPE_WEBHOOK_SECRETS: 'whsec_platform1' }, 'stripe.webhookSecrets.0'],
  [{ TENANTRY_STRIPE_WEBHOOK_SECRETS: 'platform=whsec_platform1,thin=whsec_cut' }, 'stripe.webhookSecrets.1'],
  [{ TENANTRY_STRIPE_API: 'http://stripe.example' }, 'stripe.api'],
  [{ TENANTRY_PAYMENTS_CURRENCY: 'jpy' }, 'payments.currency'],
])('a wrong setting of payments is refused without its value: %j', (env, path) => {
  expect(refusedPaths(undefined, env)).toEqual([path])
  expect(() => loadConfig({ env })).not.toThrow(/pk_live_abc|whsec_platform1/)
})

test('a webhook secret that was cut is refused for its length, not for its form', () => {
  const refused = (secrets: string) => () => loadConfig({ env: { TENANTRY_STRIPE_WEBHOOK_SECRETS: secrets } })
  expect(refused('thin=whsec_cut')).toThrow('must have 8 to 255 characters after whsec_, not 3')
  expect(refused('thin=whsec_spaced out')).toThrow('must have only letters')
  expect(refused('other=whsec_12345678')).toThrow('must be <endpoint>=whsec_…')
})

test.each([
  ['http://127.0.0.1:9090', undefined, []],
  ['http://prometheus.internal:9090/prefix', undefined, []],
  ['https://prometheus.example', '/etc/tenantry/prometheus.token', []],
  ['http://localhost:9090', '/etc/tenantry/prometheus.token', []],
  ['http://prometheus.internal:9090', '/etc/tenantry/prometheus.token', ['prometheus.url']], // the token would be readable on the way
  ['https://tenantry:secret@prometheus.example', undefined, ['prometheus.url']],
  ['https://prometheus.example/?team=a', undefined, ['prometheus.url']],
  ['http://127.0.0.1:10080', undefined, ['prometheus.url']],
  ['ftp://prometheus.example', undefined, ['prometheus.url']],
])('the address %s of Prometheus with the token file %s: refused are %j', (url, tokenFile, refused) => {
  expect(
    refusedPaths(undefined, { TENANTRY_PROMETHEUS_URL: url, ...(tokenFile && { TENANTRY_PROMETHEUS_TOKEN_FILE: tokenFile }) }),
  ).toEqual(refused)
})

test('a provider of logins needs a client, the scope openid, and a group for a role', () => {
  const issuer = { TENANTRY_ADMIN_OIDC_ISSUER: 'https://id.example' }
  const wrong = () => loadConfig({ env: { ...issuer, TENANTRY_ADMIN_OIDC_SCOPES: 'email' } })
  for (const part of [/clientId must be set/, /scopes must contain openid/, /roles must name a group/]) expect(wrong).toThrow(part)
  expect(() => loadConfig({ env: { TENANTRY_ADMIN_OIDC_ISSUER: 'http://id.example' } })).toThrow(/must begin with https/)
  const groups = { TENANTRY_ADMIN_OIDC_CLIENT_ID: 'tenantry', TENANTRY_ADMIN_OIDC_ROLES_ADMIN: 'admins, heads' }
  expect(loadConfig({ env: { ...issuer, ...groups } }).admin.oidc).toMatchObject({ roles: { admin: ['admins', 'heads'], viewer: [] } })
})
