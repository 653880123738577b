import { expect, test } from 'vitest'
import { acquireLease } from '../../../src/daemon/db/index.ts'
import { hostsJobs } from '../../../src/daemon/hosts/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'

const day = 86_400_000

onBothDialects('housekeeping', (fresh) => {
  const setUp = async (inUse: string[] = []) => {
    const world = await hostWorld(await fresh())
    const { hostId } = await world.enrol('host-1')
    const { clock } = world
    const { db } = world.deps
    const [job] = hostsJobs({ db, clock, commandsInUse: async () => inUse })
    const queue = async (id: string, status: 'queued' | 'running' | 'succeeded' | 'failed' | 'expired') => {
      await world.enqueue({ id, hostId })
      const over = ['succeeded', 'failed', 'expired'].includes(status)
      await db
        .updateTable('commands')
        .set({ status, finished_at: over ? clock.now().toISOString() : null })
        .where('id', '=', id)
        .execute()
    }
    const ids = async () => (await db.selectFrom('commands').select('id').orderBy('id').execute()).map(({ id }) => id)
    const run = () => job?.run({ signal: new AbortController().signal })
    return { db, clock, queue, ids, run, job }
  }

  test('runs at 03:50 and deletes finished records after thirty days, whatever their outcome', async () => {
    const { clock, queue, ids, run, job } = await setUp()
    expect([job?.key, job?.expression]).toEqual(['housekeeping', '50 3 * * *'])
    await queue('a', 'succeeded')
    await queue('b', 'failed')
    await queue('c', 'expired')
    await clock.advance(30 * day - 1000)
    await queue('d', 'succeeded')
    expect(await run()).toBe('deleted 0 commands, 0 leases')
    await clock.advance(1000)
    expect(await run()).toBe('deleted 3 commands, 0 leases')
    expect(await ids()).toEqual(['d'])
  })

  test('open records stay, however old, and so do records that a feature still reads', async () => {
    const { clock, queue, ids, run } = await setUp(['paused'])
    await queue('open', 'running')
    await queue('waiting', 'queued')
    await queue('paused', 'succeeded')
    await clock.advance(365 * day)
    await run()
    expect(await ids()).toEqual(['open', 'paused', 'waiting'])
  })

  test('a lease that is held, or was held last week, stays', async () => {
    const { db, clock, run } = await setUp()
    const take = (name: string) => acquireLease({ db, clock }, { name, owner: 'replica-1', ttlMs: 20_000 })
    await take('old')
    await clock.advance(31 * day)
    await take('new')
    expect(await run()).toBe('deleted 0 commands, 1 lease')
    expect(await db.selectFrom('leases').select('name').execute()).toEqual([{ name: 'new' }])
  })
})
