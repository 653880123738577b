import { expect, test } from 'vitest'
import { problem } from '../../../src/core/kit/index.ts'
import { boxesToErase } from '../../../src/daemon/boxes/index.ts'
import { acquireLease } from '../../../src/daemon/db/index.ts'
import { eraseSnapshots, type SnapshotsDeps, snapshotsOnHosts } from '../../../src/daemon/snapshots/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTended, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

const settings = {
  backupKey: Buffer.alloc(32, 7).toString('base64'),
  snapshotStore: 's3://s3.example/bucket',
  snapshotStoreCredentials: { accessKeyId: 'agents', secretAccessKey: 'theirs' },
  snapshotUpkeep: { accessKeyId: 'upkeep', secretAccessKey: 'ours' },
}

type Plan = Parameters<SnapshotsDeps['maintain']>[1]

onBothDialects('the snapshots of a deleted tenant', (fresh) => {
  /** The repository also has a snapshot that the registry does not know. */
  const setUp = async (changes: object = settings, failure?: Error) => {
    const plans: Plan[] = []
    const identities: unknown[] = []
    let present = ['a', 'b', 'unregistered']
    const world = await snapshotsWorld(await fresh(), {
      settings: changes as typeof settings,
      maintain: async ({ repositoryId }, plan) => {
        plans.push(plan)
        identities.push(repositoryId)
        if (failure) throw failure
        present = present.filter((one) => !plan.forget.includes(idOf(one)))
        return aTended(present)
      },
    })
    const box = await world.aBox('north')
    await world.aSnapshot('north', 'a')
    await world.aSnapshot('north', 'b')
    const tenant = { id: box.tenantId, slug: 'north' }
    /** Ends the records of the snapshots, as after 400 days. */
    const onlyRepository = async (repository_id: string | null) => {
      await world.db.deleteFrom('snapshots').execute()
      await world.db.insertInto('snapshot_repositories').values({ tenant_id: tenant.id, repository_id }).execute()
    }
    return { ...world, box, plans, identities, onlyRepository, left: () => present, tenant }
  }

  test('are all forgotten and pruned in the bucket of the tenant, also those that only the repository lists', async () => {
    const { deps, tenant, plans, left } = await setUp()
    await eraseSnapshots(deps, tenant)
    expect(left()).toEqual([])
    expect(plans[0]).toMatchObject({ prune: true })
    expect(plans.map(({ forget }) => forget.length)).toEqual([2, 1])
    await eraseSnapshots(deps, tenant)
    expect(left()).toEqual([])
  })

  test('are erased too after they were abandoned, if their bucket came back meanwhile', async () => {
    const { deps, tenant, left, db, api } = await setUp()
    await db.updateTable('snapshots').set({ status: 'missing' }).execute()
    expect(await api.abandonSnapshots({ params: { slug: 'north' }, body: { reason: 'the disk burned' } })).toEqual({ abandoned: 2 })
    await eraseSnapshots(deps, tenant)
    expect(left()).toEqual([])
  })

  test('that were abandoned with a bucket that is gone leave nothing to erase; others are', async () => {
    const { deps, tenant, db, api } = await setUp(settings, problem('SNAPSHOT_STORE_LOST', 'no repository is there'))
    await expect(eraseSnapshots(deps, tenant)).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_LOST' })
    await db.updateTable('snapshots').set({ status: 'missing' }).execute()
    await api.abandonSnapshots({ params: { slug: 'north' }, body: { reason: 'the disk burned' } })
    await eraseSnapshots(deps, tenant)
  })

  test('are erased too if only their repository is recorded, from that one alone', async () => {
    const { deps, tenant, left, onlyRepository, identities } = await setUp()
    await onlyRepository('r'.repeat(64))
    await eraseSnapshots(deps, tenant)
    expect(left()).toEqual([])
    expect(new Set(identities)).toEqual(new Set(['r'.repeat(64)]))
  })

  test('are searched too in a repository without a recorded id; where none is, there is nothing to erase', async () => {
    const { deps, tenant, left, onlyRepository } = await setUp()
    await onlyRepository(null)
    await eraseSnapshots(deps, tenant)
    expect(left()).toEqual([])
    const none = await setUp(settings, problem('SNAPSHOT_STORE_LOST', 'no repository is there'))
    await none.onlyRepository(null)
    await eraseSnapshots(none.deps, none.tenant)
    expect(none.plans).toHaveLength(1)
  })

  test('are not taken for erased while the store is missing in the settings, unless they were abandoned', async () => {
    const { deps, tenant, db, plans } = await setUp()
    const without = { ...deps, settings: {} }
    await expect(eraseSnapshots(without, tenant)).rejects.toMatchObject({ code: 'CONFIG' })
    await db.updateTable('snapshots').set({ status: 'forgotten' }).execute()
    await eraseSnapshots(without, tenant)
    expect(plans).toEqual([])
  })

  test('of a tenant that never had any are not asked for', async () => {
    const { deps, plans } = await setUp()
    await eraseSnapshots(deps, { id: 'ten_none' as never, slug: 'none' })
    expect(plans).toEqual([])
  })

  test('are not touched while another replica maintains them', async () => {
    const { deps, tenant, plans, db, clock } = await setUp()
    await acquireLease({ db, clock }, { name: `snapshots:${tenant.id}`, owner: 'another', ttlMs: 60_000 })
    await expect(eraseSnapshots(deps, tenant)).rejects.toThrow(/being maintained/)
    expect(plans).toEqual([])
  })

  test('on hosts remain, with their folder', async () => {
    const { deps, tenant, plans, db, onlyRepository } = await setUp({ ...settings, snapshotStore: 'file:/var/backups' })
    await eraseSnapshots(deps, tenant)
    expect(plans).toEqual([])
    expect(await snapshotsOnHosts(deps, tenant)).toEqual([expect.stringContaining(`delete /var/backups/${tenant.id}/v1`)])
    await onlyRepository('r'.repeat(64))
    expect(await snapshotsOnHosts(deps, tenant)).toEqual([expect.stringContaining(`delete /var/backups/${tenant.id}/v1`)])
    await db.deleteFrom('snapshot_repositories').execute()
    expect(await snapshotsOnHosts(deps, tenant)).toEqual([])
  })

  test('a box blocks the deletion until its data is erased', async () => {
    const { db, box, tenant } = await setUp()
    expect(await boxesToErase(db, tenant)).toEqual([expect.stringMatching(/^Box north exists\. fix: tenantry boxes remove north --now/)])
    const change = (removal: 'removed' | 'erased') => db.updateTable('boxes').set({ live: 0, removal }).where('id', '=', box.id).execute()
    await change('removed')
    expect(await boxesToErase(db, tenant)).toEqual([expect.stringMatching(/its data is still on its host/)])
    await change('erased')
    expect(await boxesToErase(db, tenant)).toEqual([])
  })
})
