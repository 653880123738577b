import { hkdfSync } from 'node:crypto'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { manualClock, sha256Hex } from '../../../src/core/kit/index.ts'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'

const password = 'correct horse battery staple'
let dataDir: string
let env: Record<string, string>
beforeEach(async () => {
  dataDir = join(await mkdtemp(join(tmpdir(), 'tenantryd-')), 'data')
  env = { TENANTRY_DATA_DIR: dataDir }
})

/** Runs `tenantryd <line>` with what is piped into it. */
async function tenantryd(line: readonly string[], { input = '', clock = manualClock(), columns = 0 } = {}) {
  const [out, err]: string[][] = [[], []]
  const exit = await runProgram(line, {
    env,
    stdin: (async function* () {
      yield input
    })(),
    stdout: { write: (text) => out?.push(text), isTTY: columns > 0, columns },
    stderr: { write: (text) => err?.push(text) },
    signal: new AbortController().signal,
    clock,
    random: systemRandom,
  })
  return { exit, out: (out ?? []).join(''), err: (err ?? []).join('') }
}
const create = (...more: string[]) => tenantryd(['admin', 'create', '--name', 'anna', ...more], { input: `${password}\n` })
const database = () => openDatabase(env.TENANTRY_DATABASE ?? `sqlite:${join(dataDir, 'tenantry.db')}`)

describe('admin', () => {
  test.each(['sqlite', 'postgres'])('create makes the first admin on an empty database (%s)', async (dialect) => {
    if (dialect === 'postgres') env.TENANTRY_DATABASE = await createPostgresDatabase()
    const { exit, out } = await create()
    expect([exit, out]).toEqual([0, expect.stringContaining('created anna with the role admin')])
    const { db, close } = database()
    const { name, password_hash } = await db.selectFrom('admin_accounts').selectAll().executeTakeFirstOrThrow()
    expect([name, password_hash?.startsWith('$argon2id$')]).toEqual(['anna', true])
    expect(await db.selectFrom('audit').select(['actor', 'action', 'subject']).execute()).toEqual([
      { actor: 'system:tenantryd', action: 'account.created', subject: 'anna' },
    ])
    await close()
  })

  test.each([
    ['password only', {}, 'tenantry login --url http://127.0.0.1:8931 --name anna\n'],
    ['with one-time codes', { TENANTRY_ADMIN_REQUIRE_TOTP: 'true' }, '--name anna, which will ask to set up one-time codes\n'],
  ])('create names the login at this daemon (%s)', async (_, more, next) => {
    Object.assign(env, { TENANTRY_LISTEN: '127.0.0.1:8931' }, more)
    const { out } = await create()
    expect(out).toContain('\nnext:  tenantry login --url http://127.0.0.1:8931')
    expect(out.endsWith(next)).toBe(true)
  })

  test('create takes the password from a file, and prints what the API would with --json', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'pw-')), 'password')
    await writeFile(file, `${password}\r\nsecond line\n`)
    const { exit, out } = await tenantryd(['admin', 'create', '--name', 'ben', '--role', 'viewer', '--password-file', file, '--json'])
    expect([exit, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: 'ben', role: 'viewer', mustChangePassword: false })])
    expect(out).not.toContain(password)
  })

  test.each([
    [['--role', 'king'], password, 'role'],
    [[], 'short', 'password'],
    [['--name', 'no spaces'], password, 'name'],
    [['--password-file', '/nowhere'], password, '/nowhere'],
  ])('create refuses %j', async (more, input, says) => {
    const { exit, err } = await tenantryd(['admin', 'create', '--name', 'anna', ...more], { input })
    expect([exit, err]).toEqual([2, expect.stringContaining(says)])
  })

  test('a name is taken once', async () => {
    await create()
    expect(await create()).toMatchObject({ exit: 5, err: expect.stringContaining('[ALREADY_EXISTS]') })
  })

  test('unlock and reset-totp name an unknown account', async () => {
    await create()
    for (const verb of ['unlock', 'reset-totp']) {
      expect((await tenantryd(['admin', verb, '--name', 'anna'])).exit).toBe(0)
      expect((await tenantryd(['admin', verb, '--name', 'nobody'])).exit).toBe(3)
    }
  })
})

test('approval-token prints a token and its hash, another each time', async () => {
  const [one, two] = [await tenantryd(['approval-token', '--json']), await tenantryd(['approval-token', '--json'])]
  const { token, sha256 } = JSON.parse(one.out)
  expect(sha256).toBe(sha256Hex(token))
  expect(one.out).not.toBe(two.out)
})

test('openapi prints the document', async () => {
  const { out } = await tenantryd(['openapi'])
  expect(JSON.parse(out)).toMatchObject({ openapi: '3.1.0', paths: { '/api/admin/v1/login': { post: { operationId: 'login' } } } })
})

describe('recovery', () => {
  const key = Buffer.alloc(32, 8).toString('base64')
  const derived = (tenant: string) =>
    Buffer.from(hkdfSync('sha256', Buffer.from(key, 'base64'), tenant, 'snapshots recovery v1', 32)).toString('base64url')

  test('recovery-key prints a key that the settings take, another each time', async () => {
    const [one, two] = [await tenantryd(['recovery-key', '--json']), await tenantryd(['recovery-key', '--json'])]
    env.TENANTRY_RECOVERY_KEY = JSON.parse(one.out).key
    expect((await tenantryd(['check-config'])).exit).toBe(0)
    expect(one.out).not.toBe(two.out)
    expect((await tenantryd(['recovery-key'])).out).toContain('TENANTRY_RECOVERY_KEY=')
  })

  test('recovery-password needs the key and the tenants alone: no database, no backup key', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'key-')), 'recovery')
    await writeFile(file, `${key}\n`)
    env.TENANTRY_DATABASE = 'postgres://nobody@127.0.0.1:1/gone'
    env.TENANTRY_SNAPSHOT_STORE = 's3://s3.example/bucket'
    const { exit, out } = await tenantryd(['recovery-password', 'ten_a', 'ten_b', '--key-file', file, '--json'])
    expect([exit, JSON.parse(out)]).toEqual([
      0,
      ['ten_a', 'ten_b'].map((tenantId) => ({
        tenantId,
        repository: `s3:https://s3.example/bucket/${tenantId}/v1`,
        password: derived(tenantId),
      })),
    ])
    await expect(chmod(dataDir, 0o700)).rejects.toMatchObject({ code: 'ENOENT' }) // nothing was made
  })

  test('recovery-password takes the key of the settings, and says where repositories are by their form', async () => {
    env.TENANTRY_RECOVERY_KEY = key
    const { exit, out } = await tenantryd(['recovery-password', 'ten_a'])
    expect([exit, out]).toEqual([0, `tenant      ten_a\nrepository  <snapshot store>/ten_a/v1\npassword    ${derived('ten_a')}\n`])
  })

  test.each([
    [['ten_a'], /no recovery key/],
    [['ten_a', '--key-file', '/nowhere'], /\/nowhere cannot be read/],
    [['../ten_a', '--key-file', '/dev/null'], /holds no recovery key/],
    [[], /tenantId/],
  ])('recovery-password %j is refused', async (line, says) => {
    const { exit, err } = await tenantryd(['recovery-password', ...line])
    expect([exit, err]).toEqual([2, expect.stringMatching(says)])
  })

  test('what is no id of a tenant is refused', async () => {
    env.TENANTRY_RECOVERY_KEY = key
    expect(await tenantryd(['recovery-password', 'ten_a', '../x'])).toMatchObject({
      exit: 2,
      out: '',
      err: expect.stringContaining('../x'),
    })
  })
})

describe('check-config', () => {
  test('shows what is in effect and no secret', async () => {
    const key = Buffer.alloc(32, 9).toString('base64')
    Object.assign(env, {
      TENANTRY_SECRET_KEY: key,
      TENANTRY_BACKUP_KEY: key,
      TENANTRY_DATABASE: 'postgres://user:hunter2@db.example/tenantry?password=hunter2',
      TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'id',
      TENANTRY_SNAPSHOT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: 'hunter2',
      TENANTRY_SNAPSHOT_UPKEEP_ACCESS_KEY_ID: 'upkeep',
      TENANTRY_SNAPSHOT_UPKEEP_SECRET_ACCESS_KEY: 'hunter2',
      TENANTRY_OBJECT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'objects',
      TENANTRY_OBJECT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: 'hunter2',
      TENANTRY_RECOVERY_KEY: key,
    })
    for (const form of [[], ['--json']]) {
      const { exit, out } = await tenantryd(['check-config', ...form])
      expect(exit).toBe(0)
      expect(out).toContain('postgres://user:[secret]@db.example/tenantry')
      expect(out).not.toMatch(/hunter2/)
      expect(out).not.toContain(key)
    }
  })

  test('lists everything that is wrong, by path', async () => {
    Object.assign(env, { TENANTRY_LOG: 'loud', TENANTRY_LISTN: 'x' })
    const { exit, err } = await tenantryd(['check-config'])
    expect(exit).toBe(2)
    expect(err).toMatch(/: TENANTRY_LISTN is not a known setting; /)
    expect(err).toMatch(/; log must be .* \(TENANTRY_LOG\) \[CONFIG_INVALID\]$/m)
  })
})

describe('rekey', () => {
  const [oldKey, newKey] = [3, 4].map((fill) => Buffer.alloc(32, fill).toString('base64')) as [string, string]

  test('after it the old key may go; a value of a column that nobody declared stops it', async () => {
    const { openSigningKeys } = await import('../../../src/daemon/auth/index.ts')
    const { keyring } = await import('../../../src/daemon/sealed/index.ts')
    await create()
    const { db, close } = database()
    await openSigningKeys({ db, clock: manualClock(), random: systemRandom, keyring: keyring([oldKey]) }, 'admin')
    env.TENANTRY_SECRET_KEY = newKey
    expect((await tenantryd(['rekey'])).exit).toBe(1)
    expect((await tenantryd(['doctor'])).out).toMatch(/✗ secret key/)
    env.TENANTRY_SECRET_KEY = `${newKey},${oldKey}`
    expect(JSON.parse((await tenantryd(['rekey', '--json'])).out).resealed).toMatchObject({ 'signing_keys.private_jwk': 1 })
    env.TENANTRY_SECRET_KEY = newKey
    expect((await tenantryd(['rekey'])).out).toContain('already')
    expect((await tenantryd(['doctor'])).out).toMatch(/✓ secret key +opens every secret/)

    env.TENANTRY_SECRET_KEY = `${newKey},${oldKey}`
    const forgotten = `${keyring([oldKey]).keys[0]?.id}.forgotten`
    await db.insertInto('streams').values({ stream: forgotten, seq: 1 }).execute()
    expect(await tenantryd(['rekey'])).toMatchObject({ exit: 1, err: expect.stringContaining('streams.stream') })
    await close()
  })
})

describe('doctor', () => {
  const checks = async (more: Parameters<typeof tenantryd>[1] = {}) => {
    const { exit, out } = await tenantryd(['doctor', '--json'], more)
    const found = JSON.parse(out).checks as { name: string; state: string; mend?: string }[]
    return { exit, found, state: (name: string) => found.find((one) => one.name === name)?.state }
  }

  test('before the first start it finds nothing wrong and makes nothing', async () => {
    const { exit, state } = await checks()
    expect([exit, state('database'), state('secret key'), state('snapshots')]).toEqual([0, 'ok', 'ok', 'warn'])
    await expect(chmod(dataDir, 0o700)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('every failed check and warning has a fix', async () => {
    await create()
    await chmod(dataDir, 0o755)
    const { exit, found, state } = await checks()
    expect([exit, state('data directory'), state('database'), state('accounts')]).toEqual([0, 'warn', 'ok', 'ok'])
    for (const one of found) expect(Boolean(one.mend)).toBe(one.state !== 'ok')
    expect(JSON.stringify(found)).not.toContain('fix: ')
  })

  test('without a recovery key it warns, and when it is the backup key', async () => {
    const key = Buffer.alloc(32, 8).toString('base64')
    expect((await checks()).state('recovery key')).toBe('warn')
    Object.assign(env, { TENANTRY_RECOVERY_KEY: key, TENANTRY_BACKUP_KEY: key })
    expect((await checks()).state('recovery key')).toBe('warn')
    env.TENANTRY_BACKUP_KEY = Buffer.alloc(32, 9).toString('base64')
    expect((await checks()).state('recovery key')).toBe('ok')
  })

  test('agents that can remove snapshots from a bucket are worth a warning; a folder on the hosts is theirs anyway', async () => {
    const credentials = (which: string, id: string) => ({
      [`TENANTRY_SNAPSHOT_${which}_ACCESS_KEY_ID`]: id,
      [`TENANTRY_SNAPSHOT_${which}_SECRET_ACCESS_KEY`]: 'secret',
    })
    env.TENANTRY_SNAPSHOT_STORE = 'file:/srv/snapshots'
    expect((await checks()).state('snapshot upkeep')).toBe(undefined)
    Object.assign(env, { TENANTRY_SNAPSHOT_STORE: 's3://s3.example/bucket', ...credentials('STORE_CREDENTIALS', 'agents') })
    expect((await checks()).state('snapshot upkeep')).toBe('warn')
    Object.assign(env, credentials('UPKEEP', 'agents'))
    expect((await checks()).state('snapshot upkeep')).toBe('warn')
  })

  test('a key of the bucket that every host has is worth a warning; sessions that cannot be had are a fault', async () => {
    env.TENANTRY_SNAPSHOT_STORE = 'file:/srv/snapshots'
    expect((await checks()).state('snapshot sessions')).toBe(undefined)
    Object.assign(env, {
      TENANTRY_BACKUP_KEY: Buffer.alloc(32, 9).toString('base64'),
      TENANTRY_SNAPSHOT_STORE: 's3://s3.example/bucket',
      TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'agents',
      TENANTRY_SNAPSHOT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: 'secret',
    })
    expect((await checks()).state('snapshot sessions')).toBe('warn')
    env.TENANTRY_SNAPSHOT_SESSIONS_ENDPOINT = 'http://127.0.0.1:9'
    const { state } = await checks()
    expect(state('snapshot sessions')).toBe('failed')
  })

  test('wrong settings are a fault', async () => {
    env.TENANTRY_LOG = 'loud'
    expect(await checks()).toMatchObject({ exit: 1, found: [{ name: 'settings', state: 'failed' }] })
  })

  test('a clock behind the audit log is a fault', async () => {
    await create()
    expect((await checks({ clock: manualClock('2020-01-01T00:00:00.000Z') })).state('clock')).toBe('failed')
  })

  test('a database of a newer program, or one that does not answer, is a fault', async () => {
    await create()
    const { db, close } = database()
    await db
      .insertInto('schema_migrations' as never)
      .values({ name: '9999-future', timestamp: '' } as never)
      .execute()
    await close()
    expect(await checks()).toMatchObject({ exit: 1 })
    env.TENANTRY_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
    env.TENANTRY_SECRET_KEY = Buffer.alloc(32, 9).toString('base64')
    const { exit, state } = await checks()
    expect([exit, state('database'), state('secret key')]).toEqual([1, 'failed', 'ok'])
  })

  test('production without a key is a fault', async () => {
    env.TENANTRY_PUBLIC_URL = 'https://tenantry.example'
    expect((await checks()).state('secret key')).toBe('failed')
  })
})

describe('the command line', () => {
  test.each([[[]], [['--help']], [['admin', 'create', '--help']], [['--version']]])('%j answers without settings', async (line) => {
    env.TENANTRY_LOG = 'loud'
    const { exit, out, err } = await tenantryd(line)
    expect([exit, `${out}${err}` === '']).toEqual([line.length === 0 ? 2 : 0, false])
  })

  test.each([
    [['nonsense'], "unknown command 'nonsense'", 'tenantryd --help'],
    [['--loud'], "unknown option '--loud'", 'tenantryd --help'],
    [['admin', 'creat'], "unknown command 'creat' (Did you mean create?)", 'tenantryd admin --help'],
    [['admin', 'create'], "required option '--name <name>' not specified", 'tenantryd admin create --help'],
    [['doctor', '--loud'], "unknown option '--loud'", 'tenantryd doctor --help'],
  ])('%j is a usage error, told as the other programs tell it, with the help of the command that was meant', async (line, says, help) => {
    expect(await tenantryd(line)).toEqual({ exit: 2, out: '', err: `error: ${says} [USAGE]\nnext:  ${help}\n` })
    const { exit, err } = await tenantryd([...line, '--json'])
    expect([exit, JSON.parse(err)]).toEqual([2, { code: 'USAGE', message: says, retryable: false }])
  })

  test('a noun alone shows what it can do, and says that a command is missing', async () => {
    const { exit, err } = await tenantryd(['admin'])
    expect(JSON.parse((await tenantryd(['admin', '--json'])).err)).toMatchObject({ code: 'USAGE', message: 'a command is missing' })
    expect([exit, err]).toEqual([
      2,
      expect.stringMatching(/reset-totp.*error: a command is missing \[USAGE\]\nnext: {2}tenantryd admin --help\n$/s),
    ])
  })

  test('help is broken for a terminal, and not where another program reads it', async () => {
    const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
    const piped = (await tenantryd(['admin', '--help'])).out
    expect(piped).toMatch(/^ {2}create .*password from prompt, stdin or file\)$/m)
    const shown = (await tenantryd(['admin', '--help'], { columns: 70 })).out
    expect([widest(shown) <= 70, shown.replace(/\s+/g, ' ')]).toEqual([true, piped.replace(/\s+/g, ' ')])
  })
})
