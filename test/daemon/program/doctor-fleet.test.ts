import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { acquireLease, type Db } from '../../../src/daemon/db/index.ts'
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
    await acquireLease({ db, clock }, { name: 'crons', holder: 'replica_a', ttlMs: 30_000 })
    await acquireLease({ db, clock }, { name: 'space:spc_1', holder: 'align_x', ttlMs: 30_000 })
    expect(await budgets()).toEqual([])
    await acquireLease({ db, clock }, { name: 'limits', holder: 'replica_b', ttlMs: 30_000 })
    expect(await budgets('redis://127.0.0.1:1')).toEqual([])
    const found = await budgets()
    expect(found.map(({ state }) => state)).toEqual(dialect === 'postgres' ? ['warn'] : [])
    await clock.advance(30_000)
    expect(await budgets()).toEqual([])
  })

  test('hosts without boxes, or one alone, may be this machine', async () => {
    const db = await fresh()
    for (const name of ['host-1', 'host-2']) await aHost(db, name)
    expect(await fleetChecks({ db, clock }, undefined)).toEqual([])
  })
})

test('a Redis that does not answer is a fault', async () => {
  expect(await redisCheck(systemClock, undefined)).toEqual([])
  expect(await redisCheck(systemClock, `redis://127.0.0.1:${await freePort()}`)).toMatchObject([{ name: 'redis', state: 'failed' }])
}, 30_000)
