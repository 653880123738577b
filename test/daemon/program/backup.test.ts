import { createHash } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { openDatabase, postgresEnvironment } from '../../../src/daemon/db/index.ts'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { rolloutById } from '../../../src/daemon/rollouts/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { debianPostgres, debianPostgresPrograms } from '../../support/debian-postgres.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

// What a machine loses comes back from a folder that was saved while its daemon ran; a folder that is not whole restores nothing.

let folder: string
let env: Record<string, string>
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantryd-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  env = { TENANTRY_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
})

async function tenantryd(machine: string, line: readonly string[], more: Record<string, string> = {}) {
  const [out, err]: [string[], string[]] = [[], []]
  const exit = await runProgram(line, {
    env: { PATH: process.env.PATH, ...env, TENANTRY_DATA_DIR: join(folder, machine), ...more },
    stdin: (async function* () {
      yield 'correct horse battery staple\n'
    })(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    signal: new AbortController().signal,
    clock: manualClock(),
    random: systemRandom,
  })
  return { exit, out: out.join(''), err: err.join('') }
}

const saved = () => join(folder, 'saved')
const fileOf = (machine: string) => `sqlite:${join(folder, machine, 'tenantry.db')}`
const save = () => tenantryd('first', ['backup', '--to', saved()])
const load = (machine = 'second', ...more: string[]) => tenantryd(machine, ['restore', '--from', saved(), ...more])

async function anInstallation(): Promise<void> {
  expect((await tenantryd('first', ['admin', 'create', '--name', 'anna'])).exit).toBe(0)
  await putObject('first', 'files/a1', 'a letter')
}

async function putObject(machine: string, key: string, content: string): Promise<void> {
  const path = join(folder, machine, 'objects', key)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
}

async function accountsIn(url: string): Promise<string[]> {
  const { db, close } = openDatabase(url)
  try {
    return (await db.selectFrom('admin_accounts').select('name').orderBy('name').execute()).map(({ name }) => name)
  } finally {
    await close()
  }
}

test('another machine goes on with accounts, objects and audit log as they were', async () => {
  await anInstallation()
  await putObject('first', 'files/b2.part', 'unfinished')
  const { exit, out } = await save()
  expect([exit, out]).toEqual([0, expect.stringMatching(/^saved 3 files, .*\nKeys are not included/)])
  expect((await tenantryd('first', ['admin', 'create', '--name', 'later'])).exit).toBe(0)
  const restored = await load()
  expect([restored.err, restored.exit]).toEqual(['', 0])
  expect(restored.out).toMatch(/^restored the SQLite database of 20.*\nnext: {2}tenantryd serve/s)
  expect(await accountsIn(fileOf('second'))).toEqual(['anna'])
  expect(await readFile(join(folder, 'second/objects/files/a1'), 'utf8')).toBe('a letter')
  expect(await readdir(join(folder, 'second/objects/files'))).toEqual(['a1'])
  const { db, close } = openDatabase(fileOf('second'))
  onTestFinished(close)
  expect(await db.selectFrom('audit').select('action').orderBy('seq').execute()).toEqual([
    { action: 'account.created' },
    { action: 'installation.restored' },
  ])
})

test('what was decided since the backup is lost, so running rollouts are paused, and snapshots taken since count as reported', async () => {
  await anInstallation()
  const first = openDatabase(fileOf('first'))
  const world = await rolloutWorld(first.db, [{ slug: 'acme' }])
  const id = await world.started()
  await first.db.insertInto('snapshot_repositories').values({ tenant_id: 'ten_acme' }).execute()
  expect((await save()).exit).toBe(0)
  await first.close()
  const restored = await load()
  expect([restored.err, restored.exit]).toEqual(['', 0])
  const { db, close } = openDatabase(fileOf('second'))
  onTestFinished(close)
  const rollout = await rolloutById(db, id)
  expect([rollout.status, rollout.pauseReason]).toEqual([
    'paused',
    expect.stringMatching(/^the database was restored from the backup of 20/),
  ])
  const { at } = JSON.parse(await readFile(join(saved(), 'backup.json'), 'utf8'))
  const [row] = await db.selectFrom('snapshot_repositories').select(['unrecorded_from', 'unrecorded_until']).execute()
  expect(row).toEqual({ unrecorded_from: at, unrecorded_until: expect.any(String) })
})

test('a daemon does not start with a restore that was interrupted: rollouts of the backup would go on', async () => {
  await anInstallation()
  const first = openDatabase(fileOf('first'))
  // The step after the load fails.
  await sql`drop table snapshot_repositories`.execute(first.db)
  await first.close()
  await save()
  expect((await load()).exit).not.toBe(0)
  const refused = await tenantryd('second', ['check-config'])
  expect([refused.exit, refused.err]).toEqual([2, expect.stringContaining('A restore of this daemon was interrupted. fix: ')])
  await rm(join(folder, 'second/tenantry.db'))
  expect((await tenantryd('second', ['check-config'])).err).toContain('was interrupted')
  for (const name of ['first', 'second', 'saved']) await rm(join(folder, name), { recursive: true })
  await anInstallation()
  expect((await save()).exit).toBe(0)
  expect((await load()).exit).toBe(0)
  expect((await tenantryd('second', ['check-config'])).err).not.toContain('was interrupted')
})

test('the folder is for its owner alone, has no key in it, and sha256sum can check it', async () => {
  await anInstallation()
  await save()
  const names = await readdir(saved(), { recursive: true })
  expect(names.toSorted()).toEqual(['SHA256SUMS', 'audit', 'backup.json', 'objects', 'objects/files', 'objects/files/a1', 'tenantry.db'])
  expect((await stat(saved())).mode & 0o077).toBe(0)
  for (const name of ['tenantry.db', 'backup.json', 'SHA256SUMS']) expect((await stat(join(saved(), name))).mode & 0o077).toBe(0)
  const sums = await readFile(join(saved(), 'SHA256SUMS'), 'utf8')
  const sum = createHash('sha256').update('a letter').digest('hex')
  expect(sums).toContain(`${sum}  objects/files/a1\n`)
  for (const name of ['tenantry.db', 'backup.json'])
    expect(await readFile(join(saved(), name), 'latin1')).not.toContain(env.TENANTRY_SECRET_KEY)
})

test('a new machine trusts the audit keys of the former one, and keeps its own', async () => {
  await anInstallation()
  const [former, own] = [
    '-----BEGIN PUBLIC KEY-----\nformer\n-----END PUBLIC KEY-----',
    '-----BEGIN PUBLIC KEY-----\nown\n-----END PUBLIC KEY-----',
  ]
  await writeFile(join(folder, 'first/audit-checkpoint.key.pub'), `${former}\n`)
  await writeFile(join(folder, 'first/audit-checkpoint.key'), 'the key that signs')
  await writeFile(join(folder, 'first/audit-checkpoints.jsonl'), '{"seq":1}\n')
  await save()
  expect(await readdir(join(saved(), 'audit'))).toEqual(['audit-checkpoint.key.pub', 'audit-checkpoints.jsonl'])
  await mkdir(join(folder, 'second'))
  await writeFile(join(folder, 'second/audit-trusted.pub'), `${own}\n`)
  expect((await load()).exit).toBe(0)
  expect(await readFile(join(folder, 'second/audit-trusted.pub'), 'utf8')).toBe(`${own}\n${former}\n`)
  expect(await readFile(join(folder, 'second/audit-checkpoints.jsonl'), 'utf8')).toBe('{"seq":1}\n')
})

test('a folder that cannot be written to is named', async () => {
  await anInstallation()
  await writeFile(join(folder, 'file'), '')
  const { exit, err } = await tenantryd('first', ['backup', '--to', join(folder, 'file/saved')])
  expect([exit, err]).toEqual([6, expect.stringContaining(`${join(folder, 'file')} cannot be written to`)])
})

test('a folder above it that is away is not created, as on a disk that is not mounted', async () => {
  await anInstallation()
  const { exit, err } = await tenantryd('first', ['backup', '--to', join(folder, 'mnt/saved')])
  expect([exit, err]).toEqual([6, expect.stringContaining(`${join(folder, 'mnt')} does not exist. fix: mount its disk`)])
  expect(await readdir(folder)).not.toContain('mnt')
})

const at = '2026-01-05T02:00:00.000Z'
const sumOf = (text: string) => createHash('sha256').update(text).digest('hex')
const aFile = {
  id: 'fil_1',
  tenant_id: 't',
  space_id: 's',
  name: 'letter',
  content_type: 'text/plain',
  created_by: 'u',
  bytes: 8,
  sha256: sumOf('a letter'),
}
const aPackage = { id: 'art_1', developer_id: 'd', bytes: 8, sha256: sumOf('a letter') }

test.each([
  ['files', { ...aFile, state: 'ready', created_at: at, updated_at: at }, 'files/t/fil_1'],
  ['files', { ...aFile, state: 'deleted', created_at: at, updated_at: at }, 'files/t/fil_1'],
  ['store_artifacts', { ...aPackage, state: 'stored', created_at: at }, 'store/art_1'],
] as const)('objects that are away are not saved as none: rows of %s, case %#', async (table, row, key) => {
  await anInstallation()
  await putObject('first', key, 'a letter')
  await insert(table, row)
  expect((await save()).exit).toBe(0)
  await rm(saved(), { recursive: true })
  await rm(join(folder, 'first/objects', key))
  const partly = await save()
  expect([partly.exit, partly.err]).toEqual([6, expect.stringContaining(`lacks 1 object that the database names (${key})`)])
  expect((await load('second', '--check')).out).toContain('without 1 object')
  await rm(saved(), { recursive: true })
  await rename(join(folder, 'first/objects'), join(folder, 'first/objects.away'))
  const { exit, err } = await save()
  expect([exit, err]).toEqual([6, expect.stringContaining('has no objects, but the database names some')])
  expect(await readdir(folder)).not.toContain('saved')
})

async function insert(table: 'files' | 'store_artifacts', row: object): Promise<void> {
  const { db, close } = openDatabase(fileOf('first'))
  await sql`pragma foreign_keys = off`.execute(db)
  await db
    .insertInto(table)
    .values(row as never)
    .execute()
  await close()
}

test.each([
  ['cut off', 'a let'],
  ['empty', ''],
  ['of another content', 'a lettes'],
])('an object that is %s is not saved as if it was whole', async (_, content) => {
  await anInstallation()
  await insert('files', { ...aFile, state: 'ready', created_at: at, updated_at: at })
  await putObject('first', 'files/t/fil_1', content)
  const { exit, err } = await save()
  expect([exit, err]).toEqual([6, expect.stringContaining('has 1 object with another checksum than the database names (files/t/fil_1)')])
  expect((await load('second', '--check')).out).toContain('with 1 object that were damaged then')
})

test('a damaged object in the place of a restored one is replaced', async () => {
  await anInstallation()
  await save()
  await putObject('second', 'files/a1', '')
  expect((await load()).exit).toBe(0)
  expect(await readFile(join(folder, 'second/objects/files/a1'), 'utf8')).toBe('a letter')
})

test('of two backups into one folder one is whole, and the other one fails; a folder of another name stays', async () => {
  await anInstallation()
  for (let n = 0; n < 200; n++) await putObject('first', `files/t/many_${n}`, 'a letter')
  await mkdir(`${saved()}.unfinished`)
  await writeFile(join(`${saved()}.unfinished`, 'own'), 'of somebody')
  const exits = (await Promise.all([save(), save(), save()])).map(({ exit, err }) => (exit === 0 ? 'saved' : err))
  expect(exits.toSorted()).toEqual([expect.stringContaining('exists. fix'), expect.stringContaining('exists. fix'), 'saved'])
  expect((await load('second', '--check')).exit).toBe(0)
  expect((await readdir(folder)).toSorted()).toEqual(['first', 'saved', 'saved.unfinished'])
  expect(await readFile(join(`${saved()}.unfinished`, 'own'), 'utf8')).toBe('of somebody')
})

test('what is written meanwhile does not tear the copy', async () => {
  await anInstallation()
  const { db, close } = openDatabase(fileOf('first'))
  onTestFinished(close)
  await sql`create table pairs (n integer, side text)`.execute(db)
  let isOver = false
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      await db.transaction().execute(async (tx) => {
        await sql`insert into pairs values (${n}, 'left')`.execute(tx)
        await sql`insert into pairs values (${n}, 'right')`.execute(tx)
      })
      await new Promise((next) => setImmediate(next))
    }
    return sql`select 1`.execute(db)
  })()
  const { exit } = await save()
  isOver = true
  await writing
  expect(exit).toBe(0)
  await load()
  const copy = openDatabase(fileOf('second'))
  onTestFinished(copy.close)
  const { rows } = await sql<{ torn: number }>`
    select count(*) as torn from (select n from pairs group by n having count(*) <> 2)`.execute(copy.db)
  expect(rows).toEqual([{ torn: 0 }])
})

describe('a backup that is not whole restores nothing', () => {
  const inBackup = (name: string) => join(saved(), name)
  test.each([
    ['a changed object', () => appendFile(inBackup('objects/files/a1'), '!'), 'a1 differs from its checksum'],
    ['a changed database', () => appendFile(inBackup('tenantry.db'), '!'), 'tenantry.db differs from its checksum'],
    ['a missing object', () => rm(inBackup('objects/files/a1')), 'a1 is missing'],
    ['a file that was added', () => writeFile(inBackup('objects/files/evil'), ''), 'evil is not part of the backup'],
    ['a link in the place of a file', () => replaceByLink(inBackup('objects/files/a1')), 'a1 is neither a file nor a folder'],
    ['no sums', () => rm(inBackup('SHA256SUMS')), 'has no SHA256SUMS'],
    ['sums of nothing but the manifest', () => onlyManifest(), 'does not name tenantry.db'],
    ['no manifest', () => rm(inBackup('backup.json')), 'has no backup.json'],
    ['another format', () => writeFile(inBackup('backup.json'), '{"format":2}'), 'was made by another version'],
    ['another folder', () => rename(saved(), join(folder, 'elsewhere')), 'has no backup.json'],
  ])('%s', async (_, change, says) => {
    await anInstallation()
    await save()
    await change()
    for (const more of [['--check'], []]) {
      const { exit, err } = await load('second', ...more)
      expect([exit, err]).toEqual([1, expect.stringContaining(says)])
      expect(err).toContain('[BACKUP_INVALID]')
    }
    expect(await readdir(folder)).not.toContain('second')
  })
})

const onlyManifest = async () => {
  const sums = await readFile(join(saved(), 'SHA256SUMS'), 'utf8')
  await writeFile(join(saved(), 'SHA256SUMS'), `${sums.split('\n').find((line) => line.endsWith('backup.json'))}\n`)
  for (const name of ['tenantry.db', 'objects']) await rm(join(saved(), name), { recursive: true })
}

const replaceByLink = async (path: string) => {
  await rm(path)
  await symlink('/etc/hostname', path)
}

test('--check reads all of a backup and changes nothing', async () => {
  await anInstallation()
  await save()
  const { exit, out } = await load('second', '--check', '--json')
  expect([exit, JSON.parse(out)]).toEqual([0, expect.objectContaining({ dialect: 'sqlite', objects: 'included', format: 1 })])
  expect(await readdir(folder)).not.toContain('second')
})

describe('nothing is overwritten', () => {
  test('a folder that exists takes no backup', async () => {
    await anInstallation()
    await mkdir(saved())
    expect(await save()).toMatchObject({ exit: 5, err: expect.stringContaining('[ALREADY_EXISTS]') })
    expect(await readdir(saved())).toEqual([])
  })

  test('the log of a former database is not applied to the restored one', async () => {
    await anInstallation()
    await save()
    await mkdir(join(folder, 'second'))
    await writeFile(join(folder, 'second/tenantry.db-wal'), 'of a daemon that was killed')
    expect(await load()).toMatchObject({ exit: 5, err: expect.stringContaining('tenantry.db-wal exists already') })
  })

  test('a database that exists stays', async () => {
    await anInstallation()
    await save()
    await tenantryd('second', ['admin', 'create', '--name', 'ben'])
    expect(await load()).toMatchObject({ exit: 5, err: expect.stringContaining('exists already') })
    expect(await accountsIn(fileOf('second'))).toEqual(['ben'])
  })

  test('objects of another installation stay, those of an interrupted restore are used', async () => {
    await anInstallation()
    await save()
    await putObject('second', 'files/zz', 'of others')
    expect(await load()).toMatchObject({ exit: 5, err: expect.stringContaining('files/zz') })
    await rm(join(folder, 'second/objects/files/zz'))
    await putObject('second', 'files/a1', 'a letter')
    expect((await load()).exit).toBe(0)
  })
})

describe('it is refused', () => {
  test('without a database, which is not created', async () => {
    expect(await save()).toMatchObject({ exit: 3, err: expect.stringContaining('[NOT_FOUND]') })
    expect(await readdir(folder)).toEqual([])
  })

  test('by an older version than made it', async () => {
    await anInstallation()
    const { db, close } = openDatabase(fileOf('first'))
    await sql`insert into schema_migrations (name, timestamp) values ('9999-later', 'now')`.execute(db)
    await close()
    await save()
    expect(await load()).toMatchObject({ exit: 5, err: expect.stringContaining('9999-later') })
  })

  test('for a database of another kind', async () => {
    await anInstallation()
    await save()
    const onPostgres = { TENANTRY_DATABASE: 'postgres://127.0.0.1:1/none' }
    const { exit, err } = await tenantryd('second', ['restore', '--from', saved()], onPostgres)
    expect([exit, err]).toEqual([5, expect.stringContaining('TENANTRY_DATABASE is postgres')])
  })

  test('without the key, before anything is restored; with a wrong one, it says that the key is missing', async () => {
    await anInstallation()
    const { db, close } = openDatabase(fileOf('first'))
    await sql`update admin_accounts set totp_secret = 'unknown.key.value'`.execute(db)
    await close()
    await save()
    const { TENANTRY_SECRET_KEY: _, ...without } = env
    env = without
    expect(await load()).toMatchObject({ exit: 6, err: expect.stringContaining('secret.key') })
    expect(await readdir(folder)).not.toContain('second')
    env = { TENANTRY_SECRET_KEY: Buffer.alloc(32, 8).toString('base64') }
    expect(await load()).toMatchObject({ exit: 1, err: expect.stringContaining('Everything is restored, but') })
  })
})

test.each([
  [
    'postgres://u:p%20w@db.example:5433/name',
    { PGHOST: 'db.example', PGPORT: '5433', PGUSER: 'u', PGPASSWORD: 'p w', PGDATABASE: 'name', PGSSLMODE: 'disable' },
  ],
  ['postgres://u@/name?host=/run/postgresql', { PGHOST: '/run/postgresql', PGUSER: 'u', PGDATABASE: 'name', PGSSLMODE: 'disable' }],
  ['postgres://u@db.example/name?sslmode=no-verify', { PGSSLMODE: 'require' }],
  ['postgres://u@db.example/name?sslmode=verify-full', { PGSSLMODE: 'verify-full', PGSSLROOTCERT: 'system' }],
  ['postgres://u@db.example/name?ssl=true', { PGSSLMODE: 'verify-full', PGSSLROOTCERT: 'system' }],
])('programs of PostgreSQL connect where the daemon does: %s', (url, environment) => {
  expect(postgresEnvironment(url)).toMatchObject(environment)
})

const programs = await debianPostgresPrograms()
describe.skipIf(programs === undefined)('on PostgreSQL', () => {
  test('a database is saved while it is used, and restored into an empty one', async () => {
    const server = await debianPostgres(programs as string)
    onTestFinished(server.close)
    env.PATH = `${programs}:${process.env.PATH}`
    const { db, close } = openDatabase(server.url('postgres'))
    for (const name of ['one', 'two']) await sql`create database ${sql.id(name)}`.execute(db)
    await close()
    const [one, two] = [{ TENANTRY_DATABASE: server.url('one') }, { TENANTRY_DATABASE: server.url('two') }]
    await tenantryd('first', ['admin', 'create', '--name', 'anna'], one)
    expect(await tenantryd('first', ['backup', '--to', saved()], one)).toMatchObject({ exit: 0, err: '' })
    expect((await readdir(saved())).toSorted()).toEqual(['SHA256SUMS', 'audit', 'backup.json', 'database.dump', 'objects'])
    expect(await tenantryd('second', ['restore', '--from', saved()], two)).toMatchObject({ exit: 0, err: '' })
    expect(await accountsIn(server.url('two'))).toEqual(['anna'])
    const again = await tenantryd('second', ['restore', '--from', saved()], two)
    expect(again).toMatchObject({ exit: 5, err: expect.stringContaining('has tables already') })
    const away = { TENANTRY_DATABASE: 'postgres://127.0.0.1:1/none' }
    const failed = await tenantryd('third', ['restore', '--from', saved()], away)
    expect(failed.exit).not.toBe(0)
    expect(failed.err).not.toContain('    at ')
  })
})
