import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { watchFences } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { hostById } from '../../../src/daemon/hosts/hosts.repo.ts'
import { freezeHost, revokeHost } from '../../../src/daemon/hosts/revoke-host.ts'
import { abortRollout, pauseRollout, resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { ageWatch, snapshotsJobs } from '../../../src/daemon/snapshots/index.ts'
import { enqueueTasks } from '../../../src/daemon/snapshots/snapshot-tasks.ts'

import { silentLogger } from '../../../src/node/index.ts'
import { aReport } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'
import { lifeWorld } from '../../support/life-world.ts'
import { roundsOf } from '../../support/loops.ts'
import { type Fate, rolloutWorld } from '../../support/rollout-world.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { aDrill, aTended, hourMs, snapshotsWorld } from '../../support/snapshots-world.ts'

const minute = 60_000
const alertsOf = async (db: Db) =>
  (await db.selectFrom('alerts').select(['kind', 'subject', 'status', 'count']).orderBy('id').execute()).map(
    ({ kind, subject, status, count }) => `${kind} ${subject} ${status}${count > 1 ? ` ${count}x` : ''}`,
  )

onBothDialects('an alert of a rollout', (fresh) => {
  const withFate = async (fate: Fate) => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    world.fates.set('acme', [fate])
    const id = await world.started()
    await world.settle()
    return { ...world, id, db: world.deps.db }
  }

  test.each([
    ['rolls-back', 'update_failed acme open', 'acme: update failed, box rolled back'],
    ['rollback-fails', 'box_down acme open', 'acme is DOWN: update and rollback failed'],
    ['fails', 'update_failed acme open', 'acme is not healthy after its update'],
    ['lies', 'update_failed acme open', 'acme runs an unexpected image'],
  ] as const)('is raised for a box that %s, and one for the pause', async (fate, raised, title) => {
    const { db, id } = await withFate(fate)
    expect(await alertsOf(db)).toEqual([raised, `rollout_paused ${id} open`])
    expect(await db.selectFrom('alerts').select('title').where('subject', '=', 'acme').execute()).toEqual([{ title }])
  })

  test.each([
    ['rolls-back', ''],
    ['rollback-fails', ' --skip-failed'],
  ] as const)('of the pause after a box that %s names a resume command that the daemon accepts', async (fate, option) => {
    const { db, id } = await withFate(fate)
    const { body } = await db.selectFrom('alerts').select('body').where('kind', '=', 'rollout_paused').executeTakeFirstOrThrow()
    expect(body).toContain(`To continue: tenantry rollouts resume ${id}${option}\n`)
  })

  test.each(['rolls-back', 'fails', 'lies'] as const)('of a box that %s is over when a later update of it succeeds', async (fate) => {
    const { db, id, deps, settle } = await withFate(fate)
    await resumeRollout(deps, anOperator, { id, skipFailed: false })
    await settle()
    expect((await alertsOf(db)).filter((one) => one.includes('acme'))).toEqual(['update_failed acme closed'])
  })

  test.each([
    ['more may fail before it pauses', { failureThreshold: 2 }, async () => undefined],
    ['it is over by then', {}, abortRollout],
  ] as const)('names a box that runs a wrong image also where the rollout does not pause for it: %s', async (_, wanted, meanwhile) => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', canary: true, host: 'host-of-acme' },
    ])
    world.fates.set('acme', ['lies'])
    const id = await world.started(wanted)
    for (let turn = 0; turn < 3; turn++) {
      await world.tick()
      const [command] = await world.open()
      if (turn === 2) await meanwhile(world.deps, anOperator, { id })
      if (command) await world.work(command)
    }
    await world.tick()
    const raised = await world.deps.db.selectFrom('alerts').select(['kind', 'severity', 'body', 'command']).execute()
    expect(raised).toEqual([
      {
        kind: 'update_failed',
        severity: 'critical',
        body: expect.stringContaining('DIGEST_MISMATCH: the agent committed, but synapse runs another image than ordered'),
        command: `tenantry rollouts show ${id} --box acme`,
      },
    ])
  })

  test('is raised for the pause, not for an untouched box, and closes on resume', async () => {
    const { db, id, deps, settle } = await withFate('pull-fails')
    expect(await alertsOf(db)).toEqual([`rollout_paused ${id} open`])
    await resumeRollout(deps, anOperator, { id, skipFailed: false })
    await settle()
    expect(await alertsOf(db)).toEqual([`rollout_paused ${id} closed`])
  })

  test('of a pause by a person names the person, has severity info and closes on abort', async () => {
    const { db, id, deps } = await withFate('pull-fails')
    await resumeRollout(deps, anOperator, { id, skipFailed: true })
    await pauseRollout(deps, anOperator, { id, reason: 'lunch' })
    const raised = await db.selectFrom('alerts').select(['severity', 'title', 'body']).where('status', '=', 'open').execute()
    expect(raised).toEqual([
      { severity: 'info', title: `Rollout ${id} was paused by admin:anna`, body: expect.stringMatching(/^Reason: lunch\n/) },
    ])
    await abortRollout(deps, anOperator, { id })
    expect(await alertsOf(db)).toEqual([`rollout_paused ${id} closed`, `rollout_paused ${id} closed`])
  })

  test('is raised at the hold point; a second pause raises another', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const id = await world.started({ holdAfter: 'canary' })
    await world.settle()
    const [row] = await world.deps.db.selectFrom('alerts').select(['severity', 'command']).execute()
    expect(row).toEqual({ severity: 'info', command: `tenantry rollouts resume ${id}` })
    world.fates.set('beta', ['rolls-back'])
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await alertsOf(world.deps.db)).toEqual([`rollout_paused ${id} closed`, 'update_failed beta open', `rollout_paused ${id} open`])
  })

  test('is raised once for an update without a result and closes when the agent reports', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    for (let step = 0; step < 2; step++) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    await world.tick()
    const [update] = await world.open()
    await world.take(update?.id as string)
    await world.expire(update?.id as string)
    await world.tick()
    await world.tick()
    expect(await alertsOf(world.deps.db)).toEqual(['update_failed acme open', `rollout_paused ${id} open`])
    const [late] = await world.lost()
    if (late) await world.work(late)
    await world.tick()
    expect((await alertsOf(world.deps.db))[0]).toBe('update_failed acme closed')
  })

  test('is raised in the transaction of a rollback', async () => {
    const { db, id, rollBack } = await withFate('pull-fails')
    await rollBack(id, 'none')
    expect(await alertsOf(db)).toEqual([`rollout_paused ${id} closed`, `rollout_rolled_back ${id} open`])
  })
})

onBothDialects('an alert of a host', (fresh) => {
  test('is raised when the host is frozen and closes when it is revoked', async () => {
    const { deps, enrol } = await hostWorld(await fresh())
    const { hostId } = await enrol('host-1')
    await freezeHost(deps, await hostById(deps.db, hostId), { instanceId: 'another' })
    await freezeHost(deps, await hostById(deps.db, hostId), { instanceId: 'another' })
    expect(await alertsOf(deps.db)).toEqual(['host_frozen host-1 open'])
    await revokeHost(deps, anOperator, { name: 'host-1', reason: 'stolen' })
    expect(await alertsOf(deps.db)).toEqual(['host_frozen host-1 closed'])
  })
})

onBothDialects('an alert of a fence', (fresh) => {
  test('is raised when the fence lasts too long and closes when the box is open', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const { db } = world.room
    await world.clock.advance(minute)
    const since = isoNow(world.clock)
    await world.report('host-1', [aReport('north', { at: since, fenced: true, fence: { holder: 'cmd_gone', since } })])
    await world.clock.advance(16 * minute)
    await watchFences({ ...world.room, log: silentLogger() })
    await watchFences({ ...world.room, log: silentLogger() })
    expect(await alertsOf(db)).toEqual(['fence_stuck north open'])
    await world.report('host-1', [aReport('north', { at: isoNow(world.clock) })])
    expect(await alertsOf(db)).toEqual(['fence_stuck north closed'])
  })
})

onBothDialects('an alert of snapshots', (fresh) => {
  const setUp = async () => {
    const world = await snapshotsWorld(await fresh())
    const box = await world.aBox('north')
    await world.aSnapshot('north', 'a')
    return { ...world, box }
  }

  test('is raised when a drill fails, counts, and closes when one succeeds', async () => {
    const { api, answer, db } = await setUp()
    const drill = async (given: Parameters<typeof aDrill>[0]) => {
      await api.drillBox({ params: { slug: 'north' }, body: {} })
      await answer('tenant-box.drill', aDrill(given))
    }
    const bad = { ok: false, error: { code: 'DISK_FULL', message: 'no room' } }
    await drill(bad)
    await drill(bad)
    expect(await alertsOf(db)).toEqual(['snapshot_damaged north open 2x'])
    await drill({ ok: true })
    expect(await alertsOf(db)).toEqual(['snapshot_damaged north closed'].map((one) => `${one} 2x`))
  })

  test('is raised for a missing snapshot or a failed check and closes after a good check', async () => {
    const { deps, box, answer, db } = await setUp()
    const tend = async (tended: ReturnType<typeof aTended>) => {
      await enqueueTasks(deps, 'check', [box.tenantId])
      await startDueTasks(deps)
      await answer('tenant-box.tend_snapshots', tended)
    }
    await tend(aTended([]))
    await tend(aTended(['a'], { check: { ok: false, error: { code: 'SNAPSHOT_FAILED', message: 'one pack is damaged' } } }))
    expect(await alertsOf(db)).toEqual(['snapshot_damaged north open 2x'])
    await tend(aTended(['a'], { check: { ok: true, error: null } }))
    expect(await alertsOf(db)).toEqual(['snapshot_damaged north closed 2x'])
  })

  test('is raised once for all boxes when one is overdue, again each day, and closes as soon as each has one', async () => {
    const { deps, clock, heard, aBox, aSnapshot, db, box } = await setUp()
    await aBox('south')
    const daily = snapshotsJobs(deps).find(({ key }) => key === 'snapshot-daily')
    const run = () => daily?.run({ signal: new AbortController().signal })
    await clock.advance(25 * hourMs)
    await roundsOf(deps, ageWatch(deps))()
    expect(await alertsOf(db)).toEqual([])
    await clock.advance(2 * hourMs)
    await heard()
    const northIsLost = (lost_at: string | null) =>
      db
        .insertInto('snapshot_repositories')
        .values({ tenant_id: box.tenantId, lost_at })
        .onConflict((c) => c.column('tenant_id').doUpdateSet({ lost_at }))
        .execute()
    // A lost store is an alert of its own.
    await northIsLost(isoNow(clock))
    for (const _ of [1, 2]) await roundsOf(deps, ageWatch(deps))()
    expect(await db.selectFrom('alerts').select(['title', 'count']).execute()).toEqual([
      { title: 'south has no recent snapshot', count: 1 },
    ])
    await northIsLost(null)
    await run()
    const [alert] = await db.selectFrom('alerts').selectAll().execute()
    expect(alert).toMatchObject({
      kind: 'snapshot_overdue',
      title: '2 boxes have no recent snapshot',
      command: 'tenantry snapshots take south --wait',
    })
    for (const [slug, word] of [
      ['north', 'b'],
      ['south', 'c'],
    ] as const)
      await aSnapshot(slug, word)
    await roundsOf(deps, ageWatch(deps))()
    expect(await alertsOf(db)).toEqual(['snapshot_overdue snapshots closed 2x'])
  })
})
