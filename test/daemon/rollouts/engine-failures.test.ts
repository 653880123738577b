import { expect, test } from 'vitest'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { commandById } from '../../../src/daemon/hosts/index.ts'
import { makeRolloutEngine } from '../../../src/daemon/rollouts/index.ts'
import { resumeRollout, showAction, showLastFailure } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { digestOf, failureLogs, newImage, oneOfEachPhase, rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('a box that fails', (fresh) => {
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
      /^free_5 stopped: box-. failed and was rolled back \(PROBE_FAILED: three probes failed\)\. Next: resume the rollout/,
    )
  })

  test('keeps the last lines of what failed, and its alert has three of them', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
    const id = await world.started()
    expect(await showLastFailure(world.deps, 'acme')).toEqual({ failure: null })
    world.fates.set('acme', ['rolls-back'])
    await world.settle()
    const { attempts } = await showAction(world.deps, { id, slug: 'acme', mayReadLogs: true })
    expect(attempts.map(({ logs }) => logs)).toEqual([failureLogs])
    expect((await showAction(world.deps, { id, slug: 'acme' })).attempts).toMatchObject([{ hasLogs: true, logs: null }])
    expect(await showLastFailure(world.deps, 'acme')).toEqual({ failure: { rolloutId: id, attempt: 1, at: attempts[0]?.startedAt } })
    const { body } = await world.deps.db.selectFrom('alerts').select('body').where('kind', '=', 'update_failed').executeTakeFirstOrThrow()
    expect(body).toContain('\nLast lines of synapse:\n  two\n  three\n  four\n')
  })

  test('resume tries again as a new attempt and goes on', async () => {
    const world = await rolloutWorld(await fresh(), oneOfEachPhase)
    world.fates.set('acme', ['pull-fails'])
    const id = await world.started()
    await world.settle()
    expect(await world.statuses(id)).toMatchObject({ acme: 'failed', beta: 'pending' })
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
    const { action, attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(action).toMatchObject({ status: 'succeeded', attempt: 2, error: null })
    expect(attempts.map(({ attempt, status, error }) => [attempt, status, error?.code])).toEqual([
      [1, 'failed', 'PULL_FAILED'],
      [2, 'succeeded', undefined],
    ])
  })

  test('resume with skipFailed leaves it out: it stays failed and blocks no longer', async () => {
    const world = await rolloutWorld(await fresh(), oneOfEachPhase)
    world.fates.set('acme', ['fails'])
    const id = await world.started()
    await world.settle()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: true })
    await world.settle()
    const { status, counts } = await world.show(id)
    expect(status).toBe('done')
    expect(counts).toMatchObject({ failed: 1, succeeded: 5 })
  })

  test('a box whose restore failed is left out or mended, never tried again', async () => {
    const world = await rolloutWorld(await fresh(), oneOfEachPhase)
    world.fates.set('acme', ['rollback-fails'])
    const id = await world.started()
    await world.settle()
    expect(await world.statuses(id)).toMatchObject({ acme: 'rollback_failed' })
    await expect(resumeRollout(world.deps, anOperator, { id, skipFailed: false })).rejects.toSatisfy((error) =>
      isProblem(error, 'CONFLICT'),
    )
    await resumeRollout(world.deps, anOperator, { id, skipFailed: true })
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
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    const { status, actions } = await world.show(id)
    expect([status, actions.map((action) => action.status)]).toEqual(['paused', ['failed', 'pending']])
    expect(actions[0]?.error).toMatchObject({ code: 'PREFLIGHT_REFUSED', message: expect.stringContaining(other) })
    world.said.clear() // somebody has brought the box back
    world.installed.set('acme', world.installed.get('beta') as never)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
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
    await world.deps.db.updateTable('rollouts').set({ digests: pinned }).where('id', '=', id).execute()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded' })
  })

  test('a clock that is set back meanwhile makes no update shorter than nothing, and no deadline longer', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    let backMs = 0
    const clock = { ...world.clock, now: () => new Date(world.clock.now().getTime() - backMs) }
    const engine = makeRolloutEngine({ ...world.deps, clock })
    const id = await world.started()
    await engine.tick(world.signal)
    backMs = 3_600_000
    await world.settle(engine)
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'succeeded', durationMs: 0 })
    const { payload } = await commandById(world.deps.db, `${id}.acme.1.update`)
    expect((payload as { deadlineMs: number }).deadlineMs).toBe(world.deps.settings.actionDeadlineMs)
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
        error: { code: 'DIGEST_MISMATCH', message: expect.stringContaining('but the plan showed') },
      })
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await pulls()
    expect((await world.show(id)).digests).toEqual({ [newImage]: moved })
    expect(await world.commandIds()).toContain(`${id}.beta.2.update`)
  })
})
