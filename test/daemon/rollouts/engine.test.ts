import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { evidenceSum } from '../../../src/core/audit/index.ts'
import type { BoxCommandPayload, BoxFacts } from '../../../src/core/boxes/index.ts'
import { isoIn, isProblem } from '../../../src/core/kit/index.ts'
import { holdBox, holdsOf, releaseHold } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { commandById } from '../../../src/daemon/hosts/index.ts'
import { abortRollout } from '../../../src/daemon/rollouts/end-rollout.ts'
import { makeRolloutEngine } from '../../../src/daemon/rollouts/index.ts'
import { pauseRollout } from '../../../src/daemon/rollouts/pause-rollout.ts'
import { listEvidence } from '../../../src/daemon/rollouts/report-rollout.ts'
import { resumeRollout } from '../../../src/daemon/rollouts/resume-rollout.ts'
import { showAction } from '../../../src/daemon/rollouts/show-rollout.ts'
import { anOperator } from '../../support/boxes-room.ts'
import { onBothDialects } from '../../support/databases.ts'
import { interrupted } from '../../support/dying.ts'
import { digestOf, newImage, type RolloutWorld, rolloutWorld, snapshotIdOf } from '../../support/rollout-world.ts'

const fleet = [
  { slug: 'acme', canary: true },
  { slug: 'beta' },
  { slug: 'cora' },
  { slug: 'dora' },
  { slug: 'prima', plan: 'pro' as const },
  { slug: 'magna', plan: 'dedicated' as const },
]

const nothingKnown: BoxFacts = {
  ...{ schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, mediaBytes: null },
  ...{ objectBytes: null, freeDiskBytes: null, otherServices: null, wouldRecreate: null, composeChanged: null },
}

onBothDialects('the rollout engine', (fresh) => {
  test('brings every box to its target, phase by phase, and says so', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
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
    expect(await holdsOf(world.needs.db, world.clock)).toEqual(new Map())
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
      probe: world.needs.probe,
      fence: { mode: 'until-stable' },
      deadlineMs: 7_200_000,
    })
  })

  test('evidence of the attempt is kept', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    await world.settle()
    const { action, attempts } = await showAction(world.needs, { id, slug: 'acme' })
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
    const { action, attempts } = await showAction(world.needs, { id, slug: 'acme' })
    expect(attempts).toMatchObject([{ status: 'rolled_back', restored }])
    const { evidence } = await listEvidence(world.needs, { id, limit: 10 })
    expect(evidence).toMatchObject([{ version: 2, restored }])
    const ended = (await world.show(id)).auditLog.find((line) => line.action === `rollout.action.${action.status}`)
    expect(ended?.data).toMatchObject({ evidence: evidenceSum(evidence[0]) })
  })

  describe('a failure', () => {
    test('stops new tenants of the phase, lets running ones finish, and pauses with its reason', async () => {
      const boxes = ['can', ...'abcdefgh'.split('').map((letter) => `box-${letter}`)].map((slug) => ({ slug, canary: slug === 'can' }))
      const world = await rolloutWorld(await fresh(), boxes)
      const id = await world.started()
      for (const { slug } of boxes.slice(1)) world.fates.set(slug, ['rolls-back'])
      await world.settle()
      const { status, previousStatus, pauseReason, counts } = await world.show(id)
      expect(status).toBe('paused')
      expect(previousStatus).toBe('free_5')
      expect(counts).toMatchObject({ succeeded: 1, rolledBack: 1, pending: 7 })
      expect(pauseReason).toMatch(
        /^free_5 stopped: box-. failed and was restored \(PROBE_FAILED: three probes failed\)\. Next: resume the rollout/,
      )
    })

    test('resume tries again as a new attempt and goes on', async () => {
      const world = await rolloutWorld(await fresh(), fleet)
      world.fates.set('acme', ['pull-fails'])
      const id = await world.started()
      await world.settle()
      expect(await world.statuses(id)).toMatchObject({ acme: 'failed', beta: 'pending' })
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
      const { action, attempts } = await showAction(world.needs, { id, slug: 'acme' })
      expect(action).toMatchObject({ status: 'succeeded', attempt: 2, error: null })
      expect(attempts.map(({ attempt, status, error }) => [attempt, status, error?.code])).toEqual([
        [1, 'failed', 'PULL_FAILED'],
        [2, 'succeeded', undefined],
      ])
    })

    test('resume with skipFailed leaves it out: it stays failed and blocks no longer', async () => {
      const world = await rolloutWorld(await fresh(), fleet)
      world.fates.set('acme', ['fails'])
      const id = await world.started()
      await world.settle()
      await resumeRollout(world.needs, anOperator, { id, skipFailed: true })
      await world.settle()
      const { status, counts } = await world.show(id)
      expect(status).toBe('done')
      expect(counts).toMatchObject({ failed: 1, succeeded: 5 })
    })

    test('a box whose restore failed is left out or mended, never tried again', async () => {
      const world = await rolloutWorld(await fresh(), fleet)
      world.fates.set('acme', ['rollback-fails'])
      const id = await world.started()
      await world.settle()
      expect(await world.statuses(id)).toMatchObject({ acme: 'rollback_failed' })
      await expect(resumeRollout(world.needs, anOperator, { id, skipFailed: false })).rejects.toSatisfy((error) =>
        isProblem(error, 'CONFLICT'),
      )
      await resumeRollout(world.needs, anOperator, { id, skipFailed: true })
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
    })

    test('an agent that commits another image than planned has failed', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      world.fates.set('acme', ['lies'])
      const id = await world.started()
      await world.settle()
      const [action] = (await world.show(id)).actions
      expect(action).toMatchObject({ status: 'failed', updateOk: false, error: { code: 'DIGEST_MISMATCH' } })
    })

    test('an agent that takes an update back to another image than before has failed, and has taken nothing back', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      const id = await world.started()
      for (const kind of ['tenant-box.report_versions', 'tenant-box.prefetch']) {
        await world.tick()
        for (const command of await world.open()) if (command.kind === kind) await world.work(command)
      }
      await world.tick()
      const [update] = await world.open()
      if (!update) throw new Error('no update was ordered')
      world.fates.set('acme', ['rolls-back'])
      const { targets } = update.payload as BoxCommandPayload<'tenant-box.update'>
      const takenBack = { ...world.updated('acme', targets), digestsAfter: { synapse: digestOf(newImage) } }
      await world.answer(update.id, takenBack)
      await world.settle()
      const { status, actions } = await world.show(id)
      expect(status).toBe('paused')
      expect(actions[0]).toMatchObject({ status: 'failed', rolledBack: false, error: { code: 'DIGEST_MISMATCH' } })
    })

    test('a box that runs another image under the tag it was to have is not passed over when it is tried again', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
      const other = digestOf('from elsewhere')
      const id = await world.started()
      for (let turn = 0; turn < 2; turn++) {
        await world.tick()
        for (const command of await world.open()) await world.work(command)
      }
      await world.tick()
      const [update] = await world.open()
      if (!update) throw new Error('no update was ordered')
      const { targets } = update.payload as BoxCommandPayload<'tenant-box.update'>
      await world.answer(update.id, { ...world.updated('acme', targets), digestsAfter: { synapse: other } })
      const running = { image: newImage, digest: other, state: 'running' as const, restartCount: 0 }
      world.said.set('acme', { services: { synapse: running } as never })
      await world.settle()
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.settle()
      const { status, actions } = await world.show(id)
      expect([status, actions.map((action) => action.status)]).toEqual(['paused', ['failed', 'pending']])
      expect(actions[0]?.error).toMatchObject({ code: 'PREFLIGHT_REFUSED', message: expect.stringContaining(other) })
      world.said.clear() // somebody has brought the box back
      world.installed.set('acme', world.installed.get('beta') as never)
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'succeeded' })
    })

    test('a box that ran an older image under a tag that was moved since is tried again: nothing of that came from this rollout', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
      const image = 'registry.example/minio:RELEASE.2025-09-07T16-13-09Z'
      const minio = { image, digest: digestOf('before it was moved'), state: 'running' as const, restartCount: 0 }
      world.said.set('acme', { services: { minio } as never })
      world.fates.set('acme', ['pull-fails'])
      const id = await world.started()
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'failed' })
      const pinned = JSON.stringify({ [image]: digestOf('as it is by now') }) // for another box, whose MinIO had to be updated
      await world.needs.db.updateTable('rollouts').set({ digests: pinned }).where('id', '=', id).execute()
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded' })
    })

    test('a clock that is set back meanwhile makes no update shorter than nothing, and no deadline longer', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      let backMs = 0
      const clock = { ...world.clock, now: () => new Date(world.clock.now().getTime() - backMs) }
      const engine = makeRolloutEngine({ ...world.needs, clock })
      const id = await world.started()
      await engine.tick(world.signal)
      backMs = 3_600_000
      await world.settle(engine)
      expect((await world.show(id)).actions[0]).toMatchObject({ status: 'succeeded', durationMs: 0 })
      const { payload } = await commandById(world.needs.db, `${id}.acme.1.update`)
      expect((payload as { deadlineMs: number }).deadlineMs).toBe(world.needs.settings.actionDeadlineMs)
    })

    test('every pull after the first is by its digest, and another image than that is refused before anything is stopped', async () => {
      const world = await rolloutWorld(await fresh(), [
        { slug: 'acme', canary: true },
        { slug: 'prima', plan: 'pro' },
      ])
      const id = await world.started()
      for (let turn = 0; turn < 20; turn++) {
        await world.tick()
        for (const command of await world.open()) {
          if (command.id === `${id}.prima.1.prefetch`) {
            const { targets } = command.payload as { targets: { services: object } }
            expect(targets.services).toEqual({ synapse: { image: newImage, digest: digestOf(newImage) } })
            await world.answer(command.id, { digests: { [newImage]: digestOf('moved') }, pulledMs: 1 })
          } else await world.work(command)
        }
      }
      const { status, actions } = await world.show(id)
      expect(status).toBe('paused')
      expect(actions.find(({ tenantSlug }) => tenantSlug === 'prima')).toMatchObject({
        status: 'failed',
        error: { code: 'DIGEST_MISMATCH' },
      })
      expect(await world.commandIds()).not.toContain(`${id}.prima.1.update`)
    })

    test('a tag under which the fleet runs another image, as the plan showed, is taken only by who resumes having read that', async () => {
      const world = await rolloutWorld(await fresh(), [
        { slug: 'acme', canary: true },
        { slug: 'beta', canary: true },
        { slug: 'cora', canary: true },
      ])
      await world.started({ targetSlugs: ['acme'] })
      await world.settle()
      const moved = digestOf('moved')
      const pulls = async (): Promise<void> => {
        for (let turn = 0; turn < 20; turn++) {
          await world.tick()
          for (const command of await world.open())
            if (command.kind === 'tenant-box.prefetch') await world.answer(command.id, { digests: { [newImage]: moved }, pulledMs: 1 })
            else if (command.kind === 'tenant-box.update') await world.take(command.id)
            else await world.work(command)
        }
      }
      const id = await world.started({ failureThreshold: 100 })
      expect((await world.show(id)).plan.boxes.find(({ tenantSlug }) => tenantSlug === 'beta')?.images.synapse?.digest).toBe(
        digestOf(newImage),
      )
      await pulls()
      const paused = await world.show(id)
      expect(paused).toMatchObject({ status: 'paused', digests: {} })
      for (const slug of ['beta', 'cora'])
        expect(paused.actions.find(({ tenantSlug }) => tenantSlug === slug)).toMatchObject({
          status: 'failed',
          error: { code: 'DIGEST_MISMATCH', message: expect.stringContaining('as the plan showed') },
        })
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await pulls()
      expect((await world.show(id)).digests).toEqual({ [newImage]: moved })
      expect(await world.commandIds()).toContain(`${id}.beta.2.update`)
    })
  })

  describe('at its turn', () => {
    describe('a box that somebody else holds', () => {
      const holder = 'rollout:ro_other'
      const heldWorld = async () => {
        const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta', canary: true }, { slug: 'cora' }])
        const id = await world.started()
        const until = isoIn(world.clock, 3_600_000)
        const { db } = world.needs
        await db.transaction().execute((tx) => holdBox(tx, world.clock, { boxId: 'box_acme' as never, holder, until }))
        await world.settle()
        return { world, id, until, db }
      }
      const toldOf = async (world: RolloutWorld, id: string) => {
        const { rows } = await sql<{ payload: string }>`select payload from events where stream = ${`rollout:${id}`}`.execute(
          world.needs.db,
        )
        return rows.filter(({ payload }) => payload.includes('held by rollout ro_other')).length
      }

      test('waits and is not touched; the others of its phase go, the next phase does not', async () => {
        const { world, id, until } = await heldWorld()
        expect(await world.statuses(id)).toEqual({ acme: 'pending', beta: 'succeeded', cora: 'pending' })
        const { status, actions } = await world.show(id)
        expect(status).toBe('canary')
        expect(actions[0]?.progress).toMatchObject({
          step: 'wait',
          detail: expect.stringContaining(`held by rollout ro_other until ${until}`),
        })
        await world.tick()
        await world.tick()
        expect(await toldOf(world, id)).toBe(1)
        expect([...(await holdsOf(world.needs.db, world.clock)).values()]).toMatchObject([{ holder }])
      })

      test.each(['is given back', 'runs out'])('goes on when the hold %s', async (how) => {
        const { world, id, db } = await heldWorld()
        if (how === 'runs out') await world.clock.advance(3_600_001)
        else await db.transaction().execute((tx) => releaseHold(tx, { boxId: 'box_acme' as never, holder }))
        await world.heartbeat()
        await world.settle()
        expect((await world.show(id)).status).toBe('done')
        expect((await showAction(world.needs, { id, slug: 'acme' })).action).toMatchObject({ status: 'succeeded', attempt: 1 })
      })

      test('can be left out by hand', async () => {
        const { world, id } = await heldWorld()
        const skip = ['acme']
        await expect(resumeRollout(world.needs, anOperator, { id, skipFailed: false, skip })).rejects.toMatchObject({ code: 'CONFLICT' })
        await pauseRollout(world.needs, anOperator, { id, reason: 'acme is held for ever' })
        const unknown = resumeRollout(world.needs, anOperator, { id, skipFailed: false, skip: ['beta'] })
        await expect(unknown).rejects.toMatchObject({ code: 'VALIDATION', details: [{ path: 'skip.0' }] })
        await resumeRollout(world.needs, anOperator, { id, skipFailed: false, skip })
        await world.settle()
        expect(await world.statuses(id)).toEqual({ acme: 'skipped', beta: 'succeeded', cora: 'succeeded' })
        expect((await world.show(id)).status).toBe('done')
      })
    })

    test('a box that reached its target meanwhile is skipped', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      const id = await world.started()
      world.installed.set('acme', { ...world.reportOf('acme').installed, synapse: '1.163.2' })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'skipped' })
      expect((await world.show(id)).status).toBe('done')
    })

    test('a box that is newer than its target is refused', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      const id = await world.started()
      world.installed.set('acme', { ...world.reportOf('acme').installed, synapse: '1.170.0' })
      await world.settle()
      expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'PREFLIGHT_REFUSED' } })
    })

    test('a box whose own report speaks against it is refused, with what to do', async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      const id = await world.started()
      world.said.set('acme', { databaseBytes: 3e9, facts: { ...nothingKnown, freeDiskBytes: 1e9 } })
      await world.settle()
      expect((await world.show(id)).actions[0]).toMatchObject({
        status: 'failed',
        findings: [{ code: 'NO_SPACE' }],
        error: {
          code: 'PREFLIGHT_REFUSED',
          message: expect.stringMatching(/needs about 6.9 GB free on its host .*, and 1.0 GB are: make room/),
        },
      })
      expect((await world.commandIds()).filter((command) => command.includes('prefetch'))).toEqual([])
    })
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
      await pauseRollout(world.needs, anOperator, { id, reason: 'lunch time' })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending' })
      expect((await world.show(id)).status).toBe('paused')
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
    })

    test('an aborted rollout is failed for good; the tenant under way finishes and is recorded, the others are cancelled', async () => {
      const { world, id } = await underWay(['acme', 'beta'])
      await abortRollout(world.needs, anOperator, { id, reason: 'wrong version' })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'cancelled' })
      expect(await world.show(id)).toMatchObject({ status: 'failed', error: 'wrong version' })
      await expect(resumeRollout(world.needs, anOperator, { id, skipFailed: true })).rejects.toSatisfy((error) =>
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
      await pauseRollout(world.needs, anOperator, { id, reason: 'let me see' })
      await resumeRollout(world.needs, anOperator, { id, skipFailed: true })
    }
    await world.engine.handBack()
    await world.settle(makeRolloutEngine({ ...world.needs, db: interrupted(world.needs.db, 2, leaveOut) }))
    const { status, auditLog } = await world.show(id)
    expect([status, auditLog.filter(({ action }) => action === 'rollout.paused').length]).toEqual(['done', 1])
  })

  test('the log of an aborted rollout is signed once more when the last box under way has ended: its end stands there too', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', canary: true },
    ])
    const { db } = world.needs
    const asked = async () => (await db.selectFrom('outbox').select('id').where('topic', '=', 'audit.checkpoint').execute()).length
    const id = await world.started()
    await world.tick()
    await abortRollout(world.needs, anOperator, { id })
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
    await world.needs.db.updateTable('box_holds').set({ holder: 'restore:cmd_1', until: '2999-01-01T00:00:00.000Z' }).execute()
    await world.settle()
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'BOX_HELD' } })
    expect(await world.commandIds()).not.toContain(`${id}.acme.1.update`)
    expect((await holdsOf(world.needs.db, world.clock)).get('box_acme' as never)?.holder).toBe('restore:cmd_1')
  })

  test.each([
    ['was released', 'the hold of acme was released', (db: Db) => db.deleteFrom('box_holds')],
    [
      'ran out in the hands of another',
      'somebody else has taken the box acme',
      (db: Db) => db.updateTable('box_holds').set({ holder: 'rollout:cve-1', until: '2020-01-01T00:00:00.000Z' }),
    ],
  ])('nor is one whose hold %s meanwhile, until it has been looked at anew: others may have brought it further', async (_, says, lose) => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    await world.tick()
    await lose(world.needs.db).execute()
    await world.settle()
    const error = { code: 'BOX_HELD', message: expect.stringContaining(says) }
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error })
    expect(await world.commandIds()).not.toContain(`${id}.acme.1.update`)
    await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded' })
  })

  describe('an agent that is not heard of', () => {
    const atUpdate = async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
      const id = await world.started()
      for (let step = 0; step < 2; step++) {
        await world.tick()
        for (const command of await world.open()) await world.work(command)
      }
      await world.tick()
      return { world, id, update: `${id}.acme.1.update` }
    }

    test('and never fetched the update has not touched the box: failed, host offline, which is named', async () => {
      const { world, id, update } = await atUpdate()
      await world.expire(update)
      await world.tick()
      const message = expect.stringContaining('the agent of host-of-acme never fetched')
      expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'HOST_OFFLINE', message } })
    })

    test('and has the update in hand decides alone: the action stays, the box stays held, the rollout pauses once', async () => {
      const { world, id, update } = await atUpdate()
      await world.take(update)
      await world.tellProgress(update, 'recreate')
      await world.clock.advance(8_000_000)
      await world.expire(update)
      await world.tick()
      const { status, pauseReason, actions } = await world.show(id)
      expect(status).toBe('paused')
      expect(pauseReason).toMatch(/^acme: its update is under way on host-of-acme,/)
      expect(actions[0]).toMatchObject({ status: 'updating' })
      expect((await holdsOf(world.needs.db, world.clock)).size).toBe(1)
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.tick()
      expect((await world.show(id)).status).toBe('canary')
    })

    test('and answers late, after the rollout was aborted, is recorded', async () => {
      const { world, id, update } = await atUpdate()
      const { payload } = (await world.open())[0] as unknown as { payload: { targets: never } }
      await world.take(update)
      await world.expire(update)
      await world.tick()
      await abortRollout(world.needs, anOperator, { id })
      await world.clock.advance(1000)
      await world.answer(update, world.updated('acme', payload.targets))
      await world.tick()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'cancelled' })
      expect((await world.show(id)).status).toBe('failed')
      expect(await holdsOf(world.needs.db, world.clock)).toEqual(new Map())
    })

    test.each([
      ['was brought up on another host', { host_id: 'hst_host-of-beta' }],
      ['was given up', { live: 0, removal: 'erased' as const }],
    ])('whose box %s since can answer no more: the attempt has failed, and the rollout can end', async (_, change) => {
      const { world, id, update } = await atUpdate()
      const { db } = world.needs
      await world.take(update)
      await world.expire(update)
      await world.tick()
      await db.deleteFrom('box_holds').execute()
      await world.tick()
      expect(await world.statuses(id)).toMatchObject({ acme: 'pulling' })
      await db.updateTable('boxes').set(change).where('id', '=', 'box_acme').execute()
      await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
      await world.tick()
      expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'HOST_OFFLINE' } })
      await resumeRollout(world.needs, anOperator, { id, skipFailed: true })
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
    })

    test('is told of also where somebody else has taken its box by now, who keeps it', async () => {
      const { world, id, update } = await atUpdate()
      const { db } = world.needs
      await world.take(update)
      await db.updateTable('box_holds').set({ holder: 'move:mov_1' }).execute()
      await world.expire(update)
      await world.tick()
      expect((await world.show(id)).status).toBe('paused')
      expect(await db.selectFrom('alerts').select('id').where('kind', '=', 'deadline_overdue').execute()).toHaveLength(1)
      expect(await db.selectFrom('box_holds').select('holder').execute()).toEqual([{ holder: 'move:mov_1' }])
    })

    test('and answers late with an error ends its attempt', async () => {
      const { world, id, update } = await atUpdate()
      await world.take(update)
      await world.clock.advance(1000)
      await world.expire(update)
      await world.tick()
      await world.clock.advance(1000)
      const error = JSON.stringify({ code: 'COMPOSE_INVALID', message: 'not yaml' })
      await world.needs.db
        .updateTable('commands')
        .set({ error, heard_at: world.clock.now().toISOString() })
        .where('id', '=', update)
        .execute()
      await world.tick()
      expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'COMPOSE_INVALID' } })
    })
  })

  test('a rollout told to hold after a phase pauses there and goes on with the next', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started({ holdAfter: 'canary' })
    await world.settle()
    expect(await world.show(id)).toMatchObject({ status: 'paused', previousStatus: 'free_5' })
    await resumeRollout(world.needs, anOperator, { id, skipFailed: false })
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
  })
})
