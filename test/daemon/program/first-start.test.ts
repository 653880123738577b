import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { migrationState, openDatabase } from '../../../src/daemon/db/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'
import { freePort } from '../../support/free-port.ts'
import { realDaemon } from '../../support/real-daemon.ts'

let tenantryd: Awaited<ReturnType<typeof realDaemon>>
beforeAll(async () => {
  tenantryd = await realDaemon()
})

const password = 'correct horse battery staple\n'

/** Settings of a new installation: nothing but an empty folder, or an empty database. */
async function newInstallation(dialect: string): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'first-start-'))
  const postgres = {
    TENANTRY_DATABASE: dialect === 'postgres' ? await createPostgresDatabase() : '',
    TENANTRY_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  return {
    TENANTRY_DATA_DIR: join(folder, 'data'),
    TENANTRY_LISTEN: `127.0.0.1:${await freePort()}`,
    ...(dialect === 'postgres' ? postgres : {}),
  }
}

const databaseOf = (env: Record<string, string>) => openDatabase(env.TENANTRY_DATABASE ?? `sqlite:${env.TENANTRY_DATA_DIR}/tenantry.db`)

describe.each(['sqlite', 'postgres'])('a new installation on %s', (dialect) => {
  test('ten programs at once: the daemon runs, and every account is created', async () => {
    const env = await newInstallation(dialect)
    const daemon = tenantryd(['serve'], env)
    onTestFinished(() => daemon.stop('SIGKILL'))
    const names = Array.from({ length: 9 }, (_, n) => `admin-${n}`)
    const created = await Promise.all(names.map((name) => tenantryd(['admin', 'create', '--name', name], env, password).ended))
    expect(created.map(({ exit, err }) => [exit, err])).toEqual(names.map(() => [0, '']))
    await daemon.says('tenantryd is ready')
    daemon.stop()
    expect(await daemon.ended).toMatchObject({ exit: 0, err: '' })
    const { db, close } = databaseOf(env)
    onTestFinished(close)
    expect(await migrationState(db)).toEqual({ pending: [], unknown: [] })
    const accounts = await db.selectFrom('admin_accounts').select('name').orderBy('name').execute()
    expect(accounts.map(({ name }) => name)).toEqual(names)
  })
})
