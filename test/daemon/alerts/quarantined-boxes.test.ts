import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { raiseAlert } from '../../../src/daemon/alerts/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { updateFailed } from '../../../src/daemon/rollouts/alerts.ts'
import { snapshotsJobs } from '../../../src/daemon/snapshots/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { lifeWorld } from '../../support/life-world.ts'
import { aDrill, aRestore, dayMs, snapshotsWorld } from '../../support/snapshots-world.ts'

const north = { params: { slug: 'north' } }
const alertsOf = async (db: Db) =>
  (await db.selectFrom('alerts').select(['kind', 'subject', 'severity', 'status']).orderBy('id').execute()).map(
    ({ kind, subject, severity, status }) => `${kind} ${subject} ${severity} ${status}`,
  )

onBothDialects('an alert of a restore', (fresh) => {
  const setUp = async () => {
    const world = await snapshotsWorld(await fresh())
    await world.aBox('north')
    const { snapshotId } = await world.aSnapshot('north', 'a')
    const ask = () => world.api.restoreBox({ ...north, body: { snapshotId, reason: 'the import went wrong' } })
    const error = { code: 'RESTORE_FAILED', message: 'pg_restore ended with 1' }
    const end = async (outcome: 'restored' | 'failed' | 'restore_failed') => {
      await ask()
      await world.answer('tenant-box.restore', aRestore({ outcome, error: outcome === 'restored' ? null : error }))
    }
    return { ...world, end }
  }

  test('is raised when the restore leaves the box down, counts, and closes after a good restore', async () => {
    const { db, end } = await setUp()
    await end('restore_failed')
    await end('restore_failed')
    const [alert] = await db.selectFrom('alerts').selectAll().execute()
    expect(alert).toMatchObject({
      command: 'tenantry boxes show north',
      count: 2,
      body: expect.stringContaining('pg_restore ended with 1'),
    })
    expect(await alertsOf(db)).toEqual(['box_down north critical open'])
    await end('restored')
    expect(await alertsOf(db)).toEqual(['box_down north critical closed'])
  })

  test('and alerts of the failed update close together after a manual restore, not before', async () => {
    const { db, deps, end } = await setUp()
    const failed = { rolloutId: 'ro_1', slug: 'north', attempt: 1, error: { code: 'PROBE_FAILED', message: 'it does not answer' } }
    const left = (['unhealthy', 'opened_early', 'wrong_image'] as const).map((failure, n) =>
      updateFailed(failure, { ...failed, attempt: n }),
    )
    await db.transaction().execute(async (tx) => {
      for (const alert of [...left, updateFailed('wrong_image', { ...failed, slug: 'south' })]) await raiseAlert(tx, deps.clock, alert)
    })
    const all = (status: string) => left.map(() => `update_failed north critical ${status}`)
    await end('failed')
    expect(await alertsOf(db)).toEqual([...all('open'), 'update_failed south critical open'])
    await end('restored')
    expect(await alertsOf(db)).toEqual([...all('closed'), 'update_failed south critical open'])
  })

  test('is not raised when the box kept its previous data', async () => {
    const { db, end } = await setUp()
    await end('failed')
    expect(await alertsOf(db)).toEqual([])
  })
})

onBothDialects('an alert of a move', (fresh) => {
  test('is raised when neither host runs the box and closes when one does', async () => {
    const world = await lifeWorld(await fresh())
    const { db } = world
    await world.aBox('north')
    const api = await world.api()
    await api.moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
    await world.answer('host-1', 'tenant-box.hand_over')
    await world.fail('host-2')
    expect(await alertsOf(db)).toEqual([])
    await world.fail('host-1', 'PROBE_FAILED')
    const [alert] = await db.selectFrom('alerts').selectAll().execute()
    expect(alert?.body).toMatch(/from host-1 to host-2.*PROBE_FAILED/s)
    await api.giveBackBox({ ...north, body: {} })
    expect(await alertsOf(db)).toEqual(['move_stranded north critical open'])
    await world.answer('host-1', 'tenant-box.take_back')
    expect(await alertsOf(db)).toEqual(['move_stranded north critical closed'])
  })

  test('closes when another host runs the box from a snapshot', async () => {
    const snapshot = { snapshotId: 'a'.repeat(64), snapshotSha256: null, takenAt: '2026-01-01T00:00:00.000Z' }
    const world = await lifeWorld(await fresh(), { newestSnapshot: async () => snapshot })
    await world.aBox('north')
    const api = await world.api()
    await world.silence('host-1')
    const dead = (to: string) => ({ ...north, body: { to, reason: 'host-1 burned', oldHostIsDead: 'host-1' } })
    await api.moveBox(dead('host-2'))
    await world.fail('host-2')
    expect(await alertsOf(world.db)).toEqual(['move_stranded north critical open'])
    await world.silence('host-1')
    await api.moveBox(dead('host-3'))
    await world.answer('host-3', 'tenant-box.take_over')
    expect(await alertsOf(world.db)).toEqual(['move_stranded north critical closed'])
  })
})

onBothDialects('an alert of proofs', (fresh) => {
  test('is raised for boxes not checked or test-restored for five weeks and closes when all were', async () => {
    const world = await snapshotsWorld(await fresh())
    const { deps, clock, db, answer, heard, api } = world
    const box = await world.aBox('north')
    await world.aSnapshot('north', 'a')
    const weekly = async () =>
      snapshotsJobs(deps)
        .find(({ key }) => key === 'snapshot-check')
        ?.run({ signal: new AbortController().signal })
    await clock.advance(34 * dayMs)
    await weekly()
    expect(await alertsOf(db)).toEqual([])
    await clock.advance(2 * dayMs)
    await weekly()
    const said = async () => (await db.selectFrom('alerts').select(['title', 'body', 'command']).execute()).at(-1)
    expect(await said()).toMatchObject({ command: 'tenantry crons run snapshot-check', body: expect.stringContaining('checked never') })
    // Checked since, but never brought back.
    await db
      .insertInto('snapshot_repositories')
      .values({ tenant_id: box.tenantId, tended_at: null, pruned_at: null, checked_at: isoNow(clock), data_checked_at: null })
      .execute()
    await weekly()
    expect(await said()).toMatchObject({ command: 'tenantry snapshots drill north --wait' })
    await heard()
    await api.drillBox({ ...north, body: {} })
    await answer('tenant-box.drill', aDrill({ ok: true }))
    await weekly()
    expect(await alertsOf(db)).toEqual(['snapshot_overdue snapshots warning closed'])
  })
})
