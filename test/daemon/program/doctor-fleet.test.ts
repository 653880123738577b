import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { acquireLease, type Db } from '../../../src/daemon/db/index.ts'
import { clockCheck } from '../../../src/daemon/program/doctor-database.ts'
import { fleetChecks, redisCheck } from '../../../src/daemon/program/doctor-fleet.ts'
import { systemClock } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { freePort } from '../../support/free-port.ts'

const clock = manualClock()
const aHost = (db: Db, name: string) => {
  const nothing = { reason: null, instance_id: null, last_seen_at: null, agent_version: null, protocol_version: null, engine: null }
  const none = {
    resources: null,
    resources_at: null,
    clock_offset_ms: null,
    key_since: null,
    next_key_id: null,
    next_public_key: null,
    next_key_at: null,
  }
  const row = { id: name, name, status: 'active', key_id: name, public_key: name, retired_instances: '[]', enrolled_at: '2026' } as const
  return db
    .insertInto('hosts')
    .values({ ...row, ...nothing, ...none })
    .execute()
}

onBothDialects('what only several machines can have wrong', (fresh, dialect) => {
  test('daemons that share a database and no Redis count requests each for itself', async () => {
    const db = await fresh()
    const budgets = async (redis?: string) => (await fleetChecks({ db, clock }, redis)).filter(({ name }) => name === 'budgets')
    await acquireLease({ db, clock }, { name: 'crons', owner: 'replica_a', ttlMs: 30_000 })
    await acquireLease({ db, clock }, { name: 'space:spc_1', owner: 'align_x', ttlMs: 30_000 })
    expect(await budgets()).toEqual([])
    await acquireLease({ db, clock }, { name: 'limits', owner: 'replica_b', ttlMs: 30_000 })
    expect(await budgets('redis://127.0.0.1:1')).toEqual([])
    const found = await budgets()
    expect(found.map(({ state }) => state)).toEqual(dialect === 'postgres' ? ['warn'] : [])
    await clock.advance(30_000)
    expect(await budgets()).toEqual([])
  })

  test('a box that is called like a word of the interface is told of, with the id that it is asked for by', async () => {
    const db = await fresh()
    await aHost(db, 'host-1')
    for (const slug of ['scan', 'scanner']) await aBox(db, slug, 'host-1', null)
    const found = await fleetChecks({ db, clock }, 'redis://x')
    expect(found).toMatchObject([{ name: 'names', state: 'warn', mend: expect.stringContaining('/boxes/box_scan') }])
  })

  test('so is such a host, with or without boxes', async () => {
    const db = await fresh()
    for (const name of ['invites', 'invited']) await aHost(db, name)
    const found = await fleetChecks({ db, clock }, 'redis://x')
    expect(found).toMatchObject([{ name: 'names', state: 'warn', mend: expect.stringContaining('/hosts/invites') }])
  })

  test('a box in the files of its former owner is named, with its import', async () => {
    const db = await fresh()
    await aHost(db, 'host-1')
    for (const slug of ['elm', 'oak']) await aBox(db, slug, 'host-1', null)
    await db.updateTable('boxes').set({ folder: '/srv/elm', project: 'elm', managed: 1 }).where('slug', '=', 'elm').execute()
    const found = await fleetChecks({ db, clock }, 'redis://x')
    expect(found).toMatchObject([{ name: 'boxes', state: 'warn', mend: 'tenantry boxes import elm --plan' }])
  })

  test('hosts without boxes, or one alone, may be this machine', async () => {
    const db = await fresh()
    for (const name of ['host-1', 'host-2']) await aHost(db, name)
    expect(await fleetChecks({ db, clock }, undefined)).toEqual([])
  })
})

const aBox = async (db: Db, slug: string, host: string, internalUrl: string | null) => {
  const [at, id] = ['2026-01-01T00:00:00.000Z', `box_${slug}`]
  const tenant = {
    id: `ten_${slug}`,
    slug,
    chat_domain: `${slug}.example`,
    name: slug,
    plan: 'light',
    status: 'active',
    created_at: at,
  } as const
  await db.insertInto('tenants').values(tenant).execute()
  const place = {
    host_id: host,
    internal_url: internalUrl,
    first_port: null,
    folder: null,
    project: null,
    public_url: `https://${slug}.example`,
  }
  const installed = { installed_migrations_head: '0', installed_postgres: '16', installed_synapse: '1.157.1', installed_minio: 'x' }
  const flags = { live: 1, managed: 1, canary: 0, fenced: 0, ownership_epoch: 1, findings: '[]' }
  const setUp = { set_up_command: `cmd_${slug}`, set_up_attempt: 1 }
  const drift = { drift_report: null, drift_severity: 'unknown', drift_revision: 0, last_drift_check_at: null } as const
  const reports = { database_bytes: null, last_report: null, reported_at: at, last_probe: null }
  await db
    .insertInto('boxes')
    .values({ id, tenant_id: tenant.id, slug, created_at: at, ...place, ...installed, ...flags, ...setUp, ...drift, ...reports })
    .execute()
}

onBothDialects('chat servers of several hosts without an address', (fresh) => {
  test('are looked for on this machine, and each host is named until it has one or is left alone', async () => {
    const db = await fresh()
    const chatServers = async () => (await fleetChecks({ db, clock }, 'redis://x')).filter(({ name }) => name === 'chat servers')
    for (const name of ['host-1', 'host-2', 'host-3']) await aHost(db, name)
    await aBox(db, 'one', 'host-1', 'http://127.0.0.1:18001')
    await aBox(db, 'two', 'host-3', null)
    expect(await chatServers()).toEqual([])
    await aBox(db, 'three', 'host-2', 'http://127.0.0.1:18001')
    expect(await chatServers()).toEqual([
      {
        name: 'chat servers',
        state: 'warn',
        says: 'host-1, host-2 have no platform address; their chat servers are reached at this machine',
        mend: 'for each other machine: `tenantry hosts platform <host> --address http://<its address>:{port}`',
      },
    ])
    const set = { address: 'http://10.0.0.2:{port}', updated_at: '2026', updated_by: 'olga' }
    await db
      .insertInto('platform_addresses')
      .values({ host_id: 'host-2', ...set })
      .execute()
    expect(await chatServers()).toEqual([])
  })
})

onBothDialects('the clock of this machine beside that of its database', (fresh, dialect) => {
  test.each([
    [0, 'ok', ''],
    [2000, 'warn', /^[12]\.\d s ahead of the database clock: leases, sessions and budgets expire too early here$/],
    [-2000, 'warn', /^[12]\.\d s behind the database clock: leases, sessions and budgets expire too late here$/],
    [60_000, 'failed', /^(59|60)\.\d s ahead of/],
    [-60_000, 'failed', /^(59|60)\.\d s behind/],
  ] as const)('%i ms apart: %s', async (apartMs, state, says) => {
    const db = await fresh()
    const look = () => clockCheck({ clock: { ...systemClock, now: () => new Date(Date.now() + apartMs) } }, db)
    const found = await look()
    if (dialect === 'sqlite')
      expect(found).toMatchObject({ state: 'ok' }) // its clock is ours
    else
      expect(found).toMatchObject({
        state,
        ...(says === '' ? {} : { says: expect.stringMatching(says), mend: expect.stringContaining('timedatectl') }),
      })
  })
})

test('a Redis that does not answer is a fault', async () => {
  expect(await redisCheck(systemClock, undefined)).toEqual([])
  expect(await redisCheck(systemClock, `redis://127.0.0.1:${await freePort()}`)).toMatchObject([{ name: 'redis', state: 'failed' }])
})
