import { mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
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

test('an error that nothing handles is logged with its stack; running requests are answered, leases handed back, and the exit code is 1', async () => {
  const env = await newInstallation('sqlite')
  const failing = encodeURIComponent(`process.on('SIGUSR2', () => { throw new Error('lost at postgres://u:hid' + 'den@db/x') })`)
  const daemon = tenantryd(['serve'], { ...env, NODE_OPTIONS: `--import=data:text/javascript,${failing}` })
  onTestFinished(() => daemon.stop('SIGKILL'))
  await daemon.says('tenantryd is ready')
  const socket = connect(Number(env.TENANTRY_LISTEN?.split(':')[1]), '127.0.0.1')
  const answered = new Promise<string>((done) => socket.once('data', (data) => done(String(data))))
  socket.write(
    'POST /api/admin/v1/login HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{',
  )
  await new Promise((heard) => setTimeout(heard, 200))
  daemon.stop('SIGUSR2')
  await daemon.says('unexpected error')
  socket.write('}')
  expect(await answered).toMatch(/^HTTP\/1.1 400/)
  const { exit, out } = await daemon.ended
  expect([exit, out.includes('hidden')]).toEqual([1, false])
  expect(out).toMatch(/"stack":"Error: lost at .*secret.*data:text/)
  expect(out).toContain('"stopped"')
  const { db, close } = databaseOf(env)
  onTestFinished(close)
  const leases = await db.selectFrom('leases').select('expires_at').execute()
  expect(leases.filter(({ expires_at: until }) => until > new Date().toISOString())).toEqual([])
})

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
