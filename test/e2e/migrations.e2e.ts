import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { update } from '../../src/agent/update/index.ts'
import { type BoxMigration, readBoxMigrations } from '../../src/core/boxes/index.ts'
import { packageRoot } from '../../src/node/index.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { type OneBox, oneBox } from './support/one-box.ts'

const shipped = readdirSync(packageRoot('config/box-migrations')).map((file) => ({
  file,
  text: readFileSync(packageRoot('config/box-migrations', file), 'utf8'),
}))
const good = readBoxMigrations(shipped)
const wrong = readBoxMigrations([
  ...shipped,
  { file: '0003-a-first-half.sql', text: 'create table tenantry.half (id integer);' },
  { file: '0004-wrong.sql', text: 'create table tenantry.whole (id integer);\ninsert into tenantry.nowhere values (1);' },
])

describe.skipIf(!testbedExists())('box migrations of a real box', () => {
  let one: OneBox

  beforeAll(async () => {
    one = await oneBox({ slug: `pf-mig-${process.pid}`, migrationsHead: '0001', migrations: good })
  })
  afterAll(() => one?.end())

  const sql = async (text: string, user = 'synapse') => {
    const { project } = await one.box()
    const id = (await one.deps.engine.containers(project)).find(({ service }) => service === 'postgres')!.id
    const argv = ['psql', '-X', '-A', '-t', '-h', '127.0.0.1', '-U', user, '-d', 'synapse', '-c', text]
    return (await one.deps.engine.exec(id, argv)).stdout.trim()
  }
  const noted = () => sql("select coalesce(string_agg(head || ' ' || sha256, ',' order by head), '') from tenantry.box_migrations")
  const sums = (migrations: readonly BoxMigration[]) => migrations.map(({ head, sha256 }) => `${head} ${sha256}`).join(',')
  const run = async (commandId: string, head: string, migrations: readonly BoxMigration[], services = {}) =>
    update(one.deps)(one.context(commandId, { migrations: async () => migrations }), one.payload({ services, migrationsHead: head }))

  test('a new box has the head it was made with, owned by a role that is no superuser', async () => {
    expect((await one.report()).installed.migrationsHead).toBe('0001')
    expect(await noted()).toBe(sums(good.slice(0, 1)))
    expect(await sql("select tableowner from pg_tables where schemaname = 'tenantry' and tablename = 'marks'")).toBe('synapse')
  })

  test('an update brings the next head beside a new Synapse', async () => {
    const result = await run('up', '0002', good, { synapse: one.target('synapse-1.163.2') })
    expect(result).toMatchObject({
      outcome: 'committed',
      error: null,
      report: { installed: { migrationsHead: '0002', synapse: '1.163.2' } },
    })
    expect(await noted()).toBe(sums(good))
    await one.talk.expectComplete()
    await one.talk.say('after the migration')
  })

  test('wrong SQL takes the update back: every message, the head as before, and nothing of the good one before it', async () => {
    const result = await run('wrong', '0004', wrong)
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      error: {
        code: 'UPDATE_FAILED',
        message: expect.stringMatching(/0004-wrong failed in .*: ERROR:\s+relation "tenantry.nowhere" does not exist/),
      },
      report: { installed: { migrationsHead: '0002' }, fenced: false },
    })
    expect(await noted()).toBe(sums(good))
    expect(await sql("select count(*) from pg_tables where schemaname = 'tenantry' and tablename in ('half', 'whole')")).toBe('0')
    await one.talk.expectComplete()
    await one.talk.say('after the rollback')
  })

  test('a text that was changed after it was applied, and a head that lies before, are refused while the box serves', async () => {
    const changed = readBoxMigrations(
      wrong.map(({ head, name, sql: text }) => ({ file: `${head}-${name}.sql`, text: `${text}-- fixed\n` })),
    )
    for (const [id, head, migrations, reason] of [
      ['changed', '0003', changed, /0001-marks was applied with other SQL/],
      ['back', '0001', good, /at migrations head 0002, and 0001 is older/],
    ] as const) {
      const result = await run(id, head, migrations)
      expect(result).toMatchObject({
        outcome: 'failed',
        fencedMs: 0,
        error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(reason) },
      })
    }
    await one.talk.expectComplete()
  })
})
