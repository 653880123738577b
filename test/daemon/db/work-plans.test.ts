import { beforeAll, describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { listOpenSessions } from '../../../src/daemon/admin/sessions.ts'
import { closeAlerts, raiseAlert } from '../../../src/daemon/alerts/index.ts'
import { features } from '../../../src/daemon/app/features.ts'
import { fleetDeps } from '../../../src/daemon/app/fleet-deps.ts'
import { chainNames } from '../../../src/daemon/audit/audit.repo.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { enqueueJob } from '../../../src/daemon/db/index.ts'
import { enqueueCommand } from '../../../src/daemon/hosts/commands.repo.ts'
import { findFormerKey, findHostByKeyId } from '../../../src/daemon/hosts/hosts.repo.ts'
import { nextCommand } from '../../../src/daemon/hosts/next-command.ts'
import { knownBox } from '../../../src/daemon/rollouts/testing.ts'
import { enqueueManualRun } from '../../../src/daemon/work/due-crons.ts'
import { cronHandler, cronTopic, drainJobs, enqueueDueCrons } from '../../../src/daemon/work/index.ts'
import { findJob } from '../../../src/daemon/work/testing.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { aKeyring, anAccount, anAdminWorld, aSession } from '../../support/admin-world.ts'
import { stuckFence } from '../../support/alerts.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { growRegistry } from '../../support/grown-registry.ts'
import { roleBook } from '../../support/sessions-world.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'
import { type Overheard, overhear, wholeReadsOf } from '../../support/whole-reads.ts'

// Frequent statements of agents, operators and the daemon find their few rows by an index in a grown registry.

describe.each(['sqlite', 'postgres'] as const)('on %s, in a registry that has grown', (dialect) => {
  const clock = manualClock()
  const stop = new AbortController()
  let overheard: Overheard
  let deps: Parameters<typeof fleetDeps>[0]

  beforeAll(async () => {
    const { db } = await emptyDatabase(dialect)
    await growRegistry(db, dialect)
    overheard = overhear(db, dialect)
    const base = { db: overheard.db, clock, random: systemRandom, log: silentLogger(), keyring: aKeyring() }
    deps = {
      ...base,
      config: loadConfig({ env: {} }),
      migrations: [],
      schemas: synapseSchemas,
      roles: roleBook,
      draining: stop.signal,
      owner: 'replica_1',
    }
    return async () => {
      stop.abort()
      await db.destroy()
    }
  })

  const wholeReads = (work: () => Promise<unknown>) => wholeReadsOf(overheard, work)
  const inTransaction = (work: Parameters<ReturnType<Overheard['db']['transaction']>['execute']>[0]) =>
    overheard.db.transaction().execute(work)

  test('an agent is found by its key and fetches its command', async () => {
    const { hosts } = fleetDeps(deps)
    expect(await wholeReads(() => findHostByKeyId(deps.db, 'key_id-7'))).toEqual([])
    expect(await wholeReads(() => findFormerKey(deps.db, 'key_id-7'))).toEqual([])
    const address = { hostId: 'hosts_1', boxId: 'boxes_1' }
    const queue = () =>
      inTransaction((tx) => {
        const payload = { slug: 'slug-1', boxId: 'boxes_1', ownershipEpoch: 1 }
        return enqueueCommand(tx, clock, {
          id: 'cmd_new',
          ...address,
          kind: 'tenant-box.healthcheck',
          payload,
          deadlineMs: 60_000,
        } as never)
      })
    expect(await wholeReads(queue)).toEqual([])
    const agent = { kind: 'agent', hostId: 'hosts_1', name: 'host-1', instanceId: 'i' } as never
    const pickUp = async () => {
      const found = await nextCommand(hosts, { agent, poll: { holding: [], room: 'all' } }, stop.signal)
      expect(found?.id).toBe('cmd_new')
    }
    expect(await wholeReads(pickUp)).toEqual([])
    const waits = hosts.bus.untilQueued('hosts_1')
    expect((await wholeReads(() => hosts.bus.poll(deps.db))).filter(({ table }) => table !== 'hosts')).toEqual([])
    waits.cancel()
  })

  test('the engine finds the box of a step by its slug', async () => {
    const { rollouts } = fleetDeps(deps)
    const look = () => inTransaction((tx) => knownBox(rollouts, tx, 'slug-1'))
    // The few hosts of this registry fit one page of PostgreSQL, and so do the held boxes.
    expect((await wholeReads(look)).filter(({ table }) => !['hosts', 'box_holds'].includes(table))).toEqual([])
  })

  test('a job is enqueued, leased and run', async () => {
    const handlers = { greet: async () => undefined }
    const once = async () => {
      await inTransaction((tx) => enqueueJob(tx, clock, { topic: 'greet', payload: {}, key: 'anna' }))
      await drainJobs({ db: deps.db, clock, log: deps.log, handlers })
    }
    expect(await wholeReads(once)).toEqual([])
    expect(await wholeReads(() => findJob(deps.db, 1_000_001))).toEqual([])
  })

  test('an alert is raised and resolved', async () => {
    const alert = stuckFence('north')
    const once = () =>
      inTransaction(async (tx) => {
        await raiseAlert(tx, clock, alert)
        await closeAlerts(tx, clock, { subject: alert.subject, kinds: [alert.kind], because: 'it was for a test' })
      })
    expect(await wholeReads(once)).toEqual([])
  })

  test('an operator logs in, calls and lists its sessions', async () => {
    const room = await anAdminWorld(deps.db, { clock })
    await anAccount(room)
    const once = async () => {
      const { authorization, actor } = await aSession(room)
      await room.authenticate(authorization)
      await listOpenSessions(room.db, clock, (actor as { accountId?: string }).accountId ?? 'account_1')
    }
    expect(await wholeReads(once)).toEqual([])
    room.stop()
  })

  test('the chains of the audit log are listed without reading their entries', async () => {
    expect(await wholeReads(() => chainNames(deps.db))).toEqual([])
    expect((await chainNames(deps.db)).length).toBeGreaterThan(50)
  })

  test('due crons are enqueued and run', async () => {
    const all = { ...deps, ...fleetDeps(deps), admin: deps, files: deps, users: deps, declared: () => ({ cleanups: [] }) }
    const crons = features.flatMap(({ crons }) => crons?.(all as never) ?? [])
    expect(await wholeReads(enqueueDueCrons(deps, () => crons))).toEqual([])
    const cron = { ...(crons[0] as (typeof crons)[number]), run: async () => 'done' }
    const actor = { kind: 'system', name: 'test' } as const
    const handlers = { [cronTopic]: cronHandler({ ...deps, crons: () => [cron] }) }
    expect(await wholeReads(() => enqueueManualRun(deps, actor, cron))).toEqual([])
    expect(await wholeReads(() => drainJobs({ db: deps.db, clock, log: deps.log, handlers }))).toEqual([])
  })
})
