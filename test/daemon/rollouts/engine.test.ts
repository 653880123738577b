import { describe, expect, test } from 'vitest'
import { evidenceSum } from '../../../src/core/audit/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { holdsOf } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { makeRolloutEngine } from '../../../src/daemon/rollouts/index.ts'
import { abortRollout, listEvidence, pauseRollout, resumeRollout, showAction } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { interrupted } from '../../support/dying.ts'
import { digestOf, newImage, oneOfEachPhase, rolloutWorld, snapshotIdOf } from '../../support/rollout-world.ts'

onBothDialects('the rollout engine', (fresh) => {
  test('brings every box to its target, phase by phase, and says so', async () => {
    const world = await rolloutWorld(await fresh(), oneOfEachPhase)
    const id = await world.started()
    await world.settle()
    const { status, actions, counts, digests, finishedAt, auditLog } = await world.show(id)
    expect(status).toBe('done')
    expect(finishedAt).not.toBeNull()
    expect(counts).toMatchObject({ total: 6, succeeded: 6, running: 0 })
    expect(digests).toEqual({ [newImage]: digestOf(newImage) })
    for (const action of actions)
      expect(action).toMatchObject({ status: 'succeeded', attempt: 1, snapshotOk: true, updateOk: true, healthOk: true, rolledBack: false })
    const phases = auditLog.filter(({ action }) => action === 'rollout.phase').map(({ data }) => data.to)
    expect(phases).toEqual(['free_5', 'free_100', 'pro', 'enterprise'])
    expect(await holdsOf(world.deps.db, world.clock)).toEqual(new Map())
  })

  test('the update is ordered with the digests of the first pull, and carries no secret', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    for (const step of ['observe', 'prefetch', 'update']) {
      await world.tick()
      const [command] = await world.open()
      expect(command?.id).toBe(`${id}.acme.1.${step}`)
      if (step !== 'update' && command) await world.work(command)
    }
    const [update] = await world.open()
    expect(update?.payload).toEqual({
      slug: 'acme',
      boxId: 'box_acme',
      ownershipEpoch: 1,
      targets: { services: { synapse: { image: newImage, digest: digestOf(newImage) } }, migrationsHead: '0000' },
      probe: world.deps.probe,
      fence: { mode: 'until-proven', formerSchema: 94, harmlessUpdates: expect.arrayContaining(['events_received_ts_index']) },
      deadlineMs: 7_200_000,
    })
  })

  test('evidence of the attempt is kept', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    await world.settle()
    const { action, attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(action).toMatchObject({ snapshotId: snapshotIdOf('acme'), fencedMs: 150_000 })
    expect(attempts).toMatchObject([
      {
        attempt: 1,
        status: 'succeeded',
        snapshotId: snapshotIdOf('acme'),
        snapshotSha256: 'f'.repeat(64),
        digestsAfter: { synapse: digestOf(newImage) },
        composeBackup: 'compose.yaml.acme',
        report: { slug: 'acme' },
      },
    ])
    expect(attempts[0]?.probes).toHaveLength(1)
  })

  test('by which way the database came back is kept of a box that went back, as a part of its evidence', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    world.fates.set('acme', ['rolls-back'])
    const id = await world.started()
    await world.settle()
    const restored = { from: 'cold-copy', tookMs: 2_000, copiedMs: 900 }
    const { action, attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(attempts).toMatchObject([{ status: 'rolled_back', restored }])
    const { evidence } = await listEvidence(world.deps, { id, limit: 10 })
    expect(evidence).toMatchObject([{ version: 2, restored }])
    const ended = (await world.show(id)).auditLog.find((line) => line.action === `rollout.action.${action.status}`)
    expect(ended?.data).toMatchObject({ evidence: evidenceSum(evidence[0]) })
  })

  test('progress of the agent is what the action shows', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    for (let step = 0; step < 2; step++) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    await world.tick()
    const update = `${id}.acme.1.update`
    await world.take(update)
    for (const [step, status] of [
      ['prefetch', 'pulling'],
      ['stop', 'snapshotting'],
      ['recreate', 'updating'],
      ['probe', 'probing'],
      ['restore-data', 'rolling_back'],
    ] as const) {
      await world.tellProgress(update, step)
      await world.tick()
      expect((await world.show(id)).actions[0]).toMatchObject({ status, progress: { step } })
    }
  })

  describe('pause and abort', () => {
    const underWay = async (slugs: readonly string[]) => {
      const world = await rolloutWorld(
        await fresh(),
        slugs.map((slug) => ({ slug, plan: 'pro' as const, canary: slug === slugs[0] })),
      )
      const id = await world.started()
      await world.tick()
      return { world, id }
    }

    test('a paused rollout starts no further tenant; the one under way finishes; resume goes on', async () => {
      const { world, id } = await underWay(['acme', 'beta'])
      await pauseRollout(world.deps, anOperator, { id, reason: 'lunch time' })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending' })
      expect((await world.show(id)).status).toBe('paused')
      await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
    })

    test('an aborted rollout is failed for good; the tenant under way finishes and is recorded, the others are cancelled', async () => {
      const { world, id } = await underWay(['acme', 'beta'])
      await abortRollout(world.deps, anOperator, { id, reason: 'wrong version' })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'cancelled' })
      expect(await world.show(id)).toMatchObject({ status: 'failed', error: 'wrong version' })
      await expect(resumeRollout(world.deps, anOperator, { id, skipFailed: true })).rejects.toSatisfy((error) =>
        isProblem(error, 'INVALID_TRANSITION'),
      )
    })
  })

  test('a phase is not paused over a failure that a person left out between the look at it and the pause', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', plan: 'pro' },
    ])
    world.fates.set('acme', ['rolls-back'])
    const id = await world.started()
    for (let turn = 0; turn < 3; turn++) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    const leaveOut = async () => {
      expect(await world.statuses(id)).toMatchObject({ acme: 'rolled_back' })
      await pauseRollout(world.deps, anOperator, { id, reason: 'let me see' })
      await resumeRollout(world.deps, anOperator, { id, skipFailed: true })
    }
    await world.engine.releaseLeases()
    await world.settle(makeRolloutEngine({ ...world.deps, db: interrupted(world.deps.db, 2, leaveOut) }))
    const { status, auditLog } = await world.show(id)
    expect([status, auditLog.filter(({ action }) => action === 'rollout.paused').length]).toEqual(['done', 1])
  })

  test('the log of an aborted rollout is signed once more when the last box under way has ended: its end stands there too', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', canary: true },
    ])
    const { db } = world.deps
    const asked = async () => (await db.selectFrom('jobs').select('id').where('topic', '=', 'audit.checkpoint').execute()).length
    const id = await world.started()
    await world.tick()
    await abortRollout(world.deps, anOperator, { id })
    expect(await asked()).toBe(1)
    const next = async (slug: string) => (await world.open()).find((command) => command.id.includes(`.${slug}.`))
    for (let command = await next('acme'); command; command = await next('acme')) {
      await world.work(command)
      await world.tick()
    }
    expect(await world.statuses(id)).toMatchObject({ acme: 'succeeded', beta: 'preflight' })
    expect(await asked()).toBe(1)
    await world.settle()
    expect(await asked()).toBe(2)
  })

  test('a box that somebody else took while its images were fetched is not updated: its hold was released, and both would act on it', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    await world.tick()
    await world.deps.db.updateTable('box_holds').set({ holder: 'restore:cmd_1', until: '2999-01-01T00:00:00.000Z' }).execute()
    await world.settle()
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'BOX_HELD' } })
    expect(await world.commandIds()).not.toContain(`${id}.acme.1.update`)
    expect((await holdsOf(world.deps.db, world.clock)).get('box_acme' as never)?.holder).toBe('restore:cmd_1')
  })

  test.each([
    ['was released', 'the hold of acme was released', (db: Db) => db.deleteFrom('box_holds')],
    [
      'ran out in the hands of another',
      'acme is on hold for rollout cve-1',
      (db: Db) => db.updateTable('box_holds').set({ holder: 'rollout:cve-1', until: '2020-01-01T00:00:00.000Z' }),
    ],
  ])('nor is one whose hold %s meanwhile, until it has been looked at anew: others may have brought it further', async (_, says, lose) => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    await world.tick()
    await lose(world.deps.db).execute()
    await world.settle()
    const error = { code: 'BOX_HELD', message: expect.stringContaining(says) }
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error })
    expect(await world.commandIds()).not.toContain(`${id}.acme.1.update`)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded' })
  })

  test('a rollout told to hold after a phase pauses there and goes on with the next', async () => {
    const world = await rolloutWorld(await fresh(), oneOfEachPhase)
    const id = await world.started({ holdAfter: 'canary' })
    await world.settle()
    expect(await world.show(id)).toMatchObject({ status: 'paused', previousStatus: 'free_5' })
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
  })
})
