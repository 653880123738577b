import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AgentError } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { eraseSnapshots, snapshotsJobs } from '../../../src/daemon/snapshots/index.ts'
import { forgetLostStore } from '../../../src/daemon/snapshots/lost-stores.ts'
import { maintainStores } from '../../../src/daemon/snapshots/maintain-stores.ts'
import { enqueueTasks } from '../../../src/daemon/snapshots/snapshot-tasks.ts'
import { onBothDialects } from '../../support/databases.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { aDrill, aListed, anUpdate, aRestore, aTended, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

const lost: AgentError = { code: 'SNAPSHOT_STORE_LOST', message: 'The snapshots in /srv/snapshots/north are gone. fix: mount its disk' }
const repositoryId = 'd'.repeat(64)

onBothDialects('a snapshot store that is gone', (fresh) => {
  const setUp = async (change: Parameters<typeof snapshotsWorld>[1] = {}) => {
    const world = await snapshotsWorld(await fresh(), change)
    const box = await world.aBox('north')
    const { db, api, agentOf, take, post } = world
    const snapshots = async () => (await api.listSnapshots({ query: { slug: 'north' } })).snapshots.map(({ status }) => status)
    const alerts = async () =>
      (await db.selectFrom('alerts').select(['kind', 'subject', 'status', 'count']).orderBy('id').execute()).map(
        ({ kind, subject, status, count }) => `${kind} ${subject} ${status}${count > 1 ? ` ${count}x` : ''}`,
      )
    /** The secrets of the next command, which then fails, so that nothing waits. */
    const secrets = async () => {
      await api.takeSnapshot({ params: { slug: 'north' } })
      const command = await take()
      const { id, leaseToken } = command
      const given = (await agentOf('host-1').commandSecrets({ params: { id }, body: { leaseToken } })).snapshots
      await post(command, { ok: false, error: { code: 'DISK_FULL', message: 'full' } })
      return given
    }
    return { ...world, box, snapshots, secrets, alerts }
  }

  test('an agent may create a repository only while no snapshot is known, and is told its id from the first use', async () => {
    const { secrets, aSnapshot, agentOf, take, api, post, db } = await setUp()
    expect(await secrets()).toMatchObject({ mayCreate: true })
    await aSnapshot('north', 'a')
    expect(await secrets()).toMatchObject({ mayCreate: false })
    for (const status of ['missing', 'damaged'] as const) {
      await db.updateTable('snapshots').set({ status }).execute()
      expect(await secrets()).toMatchObject({ mayCreate: false })
    }
    await api.takeSnapshot({ params: { slug: 'north' } })
    const command = await take()
    const deliver = (id: string) =>
      agentOf('host-1').postOutputs({
        params: { id: command.id },
        body: { leaseToken: command.leaseToken, outputs: { snapshotRepositoryId: id } },
      })
    await deliver(repositoryId)
    await deliver('e'.repeat(64)) // the first one counts
    await post(command, { ok: false, error: { code: 'DISK_FULL', message: 'full' } })
    expect(await secrets()).toMatchObject({ mayCreate: false, repositoryId })
    expect(await db.selectFrom('box_secrets').selectAll().execute()).toEqual([])
  })

  const reports = {
    'tenant-box.snapshot': undefined,
    'tenant-box.prefetch': undefined,
    'tenant-box.tend_snapshots': undefined,
    'tenant-box.hand_over': undefined,
    'tenant-box.recover': undefined,
    'tenant-box.update': anUpdate({ outcome: 'failed', snapshotOk: false, snapshotId: null, error: lost }),
    'tenant-box.restore': aRestore({ outcome: 'failed', error: lost }),
    'tenant-box.drill': aDrill({ ok: false, error: lost }),
  } as const

  test.each(Object.keys(reports) as (keyof typeof reports)[])('that %s finds: its snapshots are missing, with one alert', async (kind) => {
    const { aSnapshot, snapshots, alerts, events, box, db, api, take, post } = await setUp()
    for (const word of ['a', 'b']) await aSnapshot('north', word)
    await db.updateTable('snapshots').set({ status: 'damaged', damaged_by: 'drill' }).where('snapshot_id', '=', idOf('b')).execute()
    const payload = JSON.stringify({ slug: 'north', boxId: box.id, ownershipEpoch: 1, snapshotId: idOf('a'), check: 'none' })
    const result = reports[kind]
    for (let time = 0; time < 2; time++) {
      await api.takeSnapshot({ params: { slug: 'north' } })
      const command = await take()
      await db.updateTable('commands').set({ kind, payload }).where('id', '=', command.id).execute()
      await post(command, result ? { ok: true, result } : { ok: false, error: lost })
    }
    expect(await snapshots()).toEqual(['missing', 'missing'])
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 open 2x'])
    expect((await events()).filter(({ eventType }) => eventType === 'snapshot.store_lost')).toMatchObject([{ slug: 'north', snapshots: 2 }])
  })

  test('is one alert for all boxes of a host, which closes when a check has read the last of them again', async () => {
    const { aBox, aSnapshot, fail, answer, snapshots, alerts, api, box, deps, db, secrets } = await setUp()
    const south = await aBox('south')
    await aSnapshot('north', 'a')
    await aSnapshot('north', 'b')
    await aSnapshot('south', 's')
    await db.updateTable('snapshots').set({ status: 'damaged', damaged_by: 'drill' }).where('snapshot_id', '=', idOf('b')).execute()
    for (const slug of ['north', 'south']) {
      await api.takeSnapshot({ params: { slug } })
      await fail('SNAPSHOT_STORE_LOST')
    }
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 open 2x'])
    const { body } = await db.selectFrom('alerts').select('body').executeTakeFirstOrThrow()
    expect(body).toContain('north, south')
    await enqueueTasks(deps, 'check', [south.tenantId])
    await startDueTasks(deps)
    await answer('tenant-box.tend_snapshots', { ...aTended([]), present: [aListed('s')], check: { ok: true, error: null } })
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 open 2x'])
    await enqueueTasks(deps, 'check', [box.tenantId])
    await startDueTasks(deps)
    await answer('tenant-box.tend_snapshots', { ...aTended(['a', 'b']), check: { ok: true, error: null }, repositoryId })
    expect(await snapshots()).toEqual(['damaged', 'present'])
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 closed 2x'])
    expect(await secrets()).toMatchObject({ mayCreate: false, repositoryId })
  })

  test('is checked by itself once a snapshot was taken in it again', async () => {
    const { aSnapshot, fail, api, answer, deps, snapshots, alerts } = await setUp()
    await aSnapshot('north', 'a')
    await api.takeSnapshot({ params: { slug: 'north' } })
    await fail('SNAPSHOT_STORE_LOST')
    await aSnapshot('north', 'b')
    await startDueTasks(deps)
    await answer('tenant-box.tend_snapshots', { ...aTended(['a', 'b']), check: { ok: true, error: null } })
    expect(await snapshots()).toEqual(['present', 'present'])
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 closed'])
  })

  test.each(['check', 'prune'] as const)(
    'that comes back with less, as a %s finds, leaves an alert that names what is still missing',
    async (task) => {
      const { aSnapshot, fail, api, answer, deps, box, snapshots, alerts, events } = await setUp()
      for (const word of ['a', 'b']) await aSnapshot('north', word)
      await api.takeSnapshot({ params: { slug: 'north' } })
      await fail('SNAPSHOT_STORE_LOST')
      await enqueueTasks(deps, task, [box.tenantId])
      await startDueTasks(deps)
      await answer('tenant-box.tend_snapshots', { ...aTended(['a']), check: task === 'check' ? { ok: true, error: null } : null })
      expect((await snapshots()).toSorted()).toEqual(['missing', 'present'])
      expect(await alerts()).toEqual(['snapshot_store_lost host-1 closed', 'snapshot_damaged north open'])
      expect((await events()).filter(({ eventType }) => eventType === 'snapshot.missing')).toMatchObject([{ snapshotIds: [idOf('b')] }])
    },
  )

  test('whose snapshots a check had found damaged is not pruned, and they are damaged when it comes back', async () => {
    const { aSnapshot, fail, api, take, post, deps, box, snapshots, db } = await setUp()
    await aSnapshot('north', 'a')
    await db.updateTable('snapshots').set({ status: 'damaged', damaged_by: 'check' }).execute()
    await api.takeSnapshot({ params: { slug: 'north' } })
    await fail('SNAPSHOT_STORE_LOST')
    await enqueueTasks(deps, 'prune', [box.tenantId])
    await startDueTasks(deps)
    const command = await take()
    expect(command.payload).toMatchObject({ prune: false })
    await post(command, { ok: true, result: aTended(['a']) })
    expect(await snapshots()).toEqual(['damaged'])
  })

  test('for good is given up by an operator alone, after which a new repository may be created', async () => {
    const { aSnapshot, fail, api, secrets, snapshots, alerts, audit } = await setUp()
    const abandon = () => api.abandonSnapshots({ params: { slug: 'north' }, body: { reason: 'the disk burned' } })
    await expect(abandon()).rejects.toMatchObject({ code: 'CONFLICT' })
    await aSnapshot('north', 'a')
    await expect(abandon()).rejects.toMatchObject({ code: 'CONFLICT' })
    await api.takeSnapshot({ params: { slug: 'north' } })
    await fail('SNAPSHOT_STORE_LOST')
    expect(await abandon()).toEqual({ abandoned: 1 })
    expect(await secrets()).toMatchObject({ mayCreate: true })
    expect([await snapshots(), await alerts()]).toEqual([['forgotten'], ['snapshot_store_lost host-1 closed']])
    expect(await audit()).toContainEqual({ actor: 'admin:anna', action: 'snapshots.abandoned', subject: 'north' })
  })

  test('before its first snapshot can be abandoned too, and the alert names its box', async () => {
    const { api, agentOf, take, fail, post, secrets, alerts, db } = await setUp()
    const abandon = () => api.abandonSnapshots({ params: { slug: 'north' }, body: { reason: 'the disk burned' } })
    await api.takeSnapshot({ params: { slug: 'north' } })
    const command = await take()
    await agentOf('host-1').postOutputs({
      params: { id: command.id },
      body: { leaseToken: command.leaseToken, outputs: { snapshotRepositoryId: repositoryId } },
    })
    await post(command, { ok: false, error: { code: 'DISK_FULL', message: 'full' } })
    await expect(abandon()).rejects.toMatchObject({ code: 'CONFLICT' }) // nothing was reported as gone
    await api.takeSnapshot({ params: { slug: 'north' } })
    await fail('SNAPSHOT_STORE_LOST')
    expect((await db.selectFrom('alerts').select('body').executeTakeFirstOrThrow()).body).toContain('north')
    expect(await abandon()).toEqual({ abandoned: 0 })
    expect([await secrets(), await alerts()]).toMatchObject([{ mayCreate: true }, ['snapshot_store_lost host-1 closed']])
  })

  test('is abandoned after its box was removed too, or nobody could delete its tenant', async () => {
    const { aSnapshot, api, fail, alerts, snapshots, db } = await setUp()
    await aSnapshot('north', 'a')
    await api.takeSnapshot({ params: { slug: 'north' } })
    await fail('SNAPSHOT_STORE_LOST')
    await db.updateTable('boxes').set({ live: 0, removal: 'erased' }).execute()
    expect(await api.abandonSnapshots({ params: { slug: 'north' }, body: { reason: 'the disk burned' } })).toEqual({ abandoned: 1 })
    expect([await snapshots(), await alerts()]).toEqual([['forgotten'], ['snapshot_store_lost host-1 closed']])
  })

  test('has no alert once its tenant was deleted', async () => {
    const { aSnapshot, api, fail, alerts, deps, box } = await setUp()
    await aSnapshot('north', 'a')
    await api.takeSnapshot({ params: { slug: 'north' } })
    await fail('SNAPSHOT_STORE_LOST')
    await eraseSnapshots(deps, { id: box.tenantId, slug: 'north' })
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 closed'])
  })

  test('whose last two repositories return at the same moment leaves no alert', async () => {
    const { aBox, aSnapshot, api, fail, alerts, deps, db, box } = await setUp()
    const south = await aBox('south')
    for (const slug of ['north', 'south']) {
      await aSnapshot(slug, slug)
      await api.takeSnapshot({ params: { slug } })
      await fail('SNAPSHOT_STORE_LOST')
    }
    const back = (tenantId: string, meanwhile: () => Promise<unknown>) =>
      db.transaction().execute(async (tx) => {
        await forgetLostStore({ ...deps, tx }, tenantId, 'it is back')
        await meanwhile()
      })
    let second: Promise<unknown> = Promise.resolve()
    await back(box.tenantId, async () => {
      second = back(south.tenantId, async () => undefined)
      await Promise.race([second, setTimeout(100)])
    })
    await second
    expect(await alerts()).toEqual(['snapshot_store_lost host-1 closed 2x'])
  })

  test('in a bucket is found by the daemon itself, which is told which repository it must be', async () => {
    const answers = [problem('SNAPSHOT_STORE_LOST', lost.message), { ...aTended(['a']), repositoryId, check: { ok: true, error: null } }]
    const asked: unknown[] = []
    const { aSnapshot, snapshots, alerts, deps } = await setUp({
      settings: {
        backupKey: Buffer.alloc(32, 7).toString('base64'),
        snapshotStore: 's3://s3.example/bucket',
        snapshotStoreCredentials: { accessKeyId: 'agents', secretAccessKey: 'theirs' },
      },
      maintain: async (repository) => {
        asked.push(repository.repositoryId)
        const answer = answers.length > 1 ? answers.shift() : answers[0]
        if (answer instanceof Error) throw answer
        return answer as never
      },
    })
    await aSnapshot('north', 'a')
    const check = snapshotsJobs(deps).find(({ key }) => key === 'snapshot-check')
    const round = async () => {
      await check?.run({ signal: new AbortController().signal })
      await maintainStores(deps, new AbortController().signal)
    }
    await round()
    expect([await snapshots(), await alerts()]).toEqual([['missing'], ['snapshot_store_lost snapshots open']])
    await round()
    expect([await snapshots(), await alerts()]).toEqual([['present'], ['snapshot_store_lost snapshots closed']])
    await round()
    expect(asked).toEqual([undefined, undefined, repositoryId])
  })

  test('whose keys are gone is damaged, at once', async () => {
    const { aSnapshot, deps, box, fail, alerts } = await setUp()
    await aSnapshot('north', 'a')
    await enqueueTasks(deps, 'check', [box.tenantId])
    await startDueTasks(deps)
    await fail('BACKUP_KEY_INVALID')
    expect(await alerts()).toEqual(['snapshot_damaged north open'])
  })
})
