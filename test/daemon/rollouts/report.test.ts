import { expect, test } from 'vitest'
import { evidenceSum } from '../../../src/core/audit/index.ts'
import { isoNow } from '../../../src/core/kit/index.ts'
import type { RolloutReport } from '../../../src/core/rollouts/index.ts'
import { listEvidence, pauseRollout, reportRollout, resumeRollout, showAction } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('the report of a rollout', (fresh) => {
  const setUp = async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'gamma', plan: 'pro' }])
    const { db } = world.deps
    const sumsInChain = async (id: string) => {
      const rows = await db.selectFrom('audit').select(['action', 'data']).where('chain', '=', `rollout:${id}`).orderBy('seq').execute()
      const ends = rows.filter(({ action }) => action.startsWith('rollout.action.')).map(({ data }) => JSON.parse(data))
      return ends.filter(({ evidence }) => evidence).map(({ slug, attempt, evidence }) => ({ slug, attempt, sum: evidence }))
    }
    return { world, db, sumsInChain }
  }

  test('each attempt is bound to the chain by the sum of all that it left behind', async () => {
    const { world, sumsInChain } = await setUp()
    world.fates.set('beta', ['rolls-back', 'commits'])
    const id = await world.started()
    await world.settle()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    const { evidence } = await listEvidence(world.deps, { id, limit: 100 })
    expect(evidence.map(({ tenantSlug, attempt, status }) => [tenantSlug, attempt, status])).toEqual([
      ['acme', 1, 'succeeded'],
      ['beta', 1, 'rolled_back'],
      ['beta', 2, 'succeeded'],
      ['gamma', 1, 'succeeded'],
    ])
    const sums = evidence.map((one) => ({ slug: one.tenantSlug, attempt: one.attempt, sum: evidenceSum(one) }))
    const bySlug = (a: { slug: string; attempt: number }, b: { slug: string; attempt: number }) =>
      a.slug + a.attempt < b.slug + b.attempt ? -1 : 1
    expect((await sumsInChain(id)).sort(bySlug)).toEqual(sums)
    expect(evidence[0]).toMatchObject({
      imagesBefore: { synapse: 'registry.example/synapse:v1.157.1' },
      digestsBefore: { synapse: expect.stringMatching(/^sha256:/) },
      digestsAfter: { synapse: expect.stringMatching(/^sha256:/) },
      snapshotId: expect.any(String),
      snapshotSha256: 'f'.repeat(64),
      probes: [expect.objectContaining({ verdict: expect.any(String) })],
    })
  })

  test('evidence comes in pages, each attempt once', async () => {
    const { world } = await setUp()
    const id = await world.started()
    await world.settle()
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await listEvidence(world.deps, { id, limit: 1, ...(cursor === undefined ? {} : { cursor }) })
      seen.push(...page.evidence.map(({ tenantSlug }) => tenantSlug))
      cursor = page.nextCursor
    }
    expect(seen).toEqual(['acme', 'beta', 'gamma'])
  })

  test('the steps of all commands of an attempt are kept, the early ones too', async () => {
    const { world, db } = await setUp()
    const id = await world.started()
    const steps = {
      prefetch: [
        { step: 'pull', at: '2026-01-05T02:00:00.000Z' },
        { step: 'warm-snapshot', at: '2026-01-05T02:00:09.000Z' },
      ],
      update: [
        { step: 'fence', at: '2026-01-05T02:01:00.000Z' },
        { step: 'probe', at: '2026-01-05T02:01:20.000Z' },
      ],
    }
    for (let turn = 0; turn < 3; turn++) {
      await world.tick()
      for (const command of await world.open()) {
        const told = steps[command.id.split('.').at(-1) as keyof typeof steps]
        if (told)
          await db
            .updateTable('commands')
            .set({ steps: JSON.stringify(told) })
            .where('id', '=', command.id)
            .execute()
        await world.work(command)
      }
    }
    await world.tick()
    const { attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(attempts[0]?.steps.map(({ step, durationMs }) => [step, durationMs])).toEqual([
      ['pull', 9000],
      ['warm-snapshot', null], // its agent did not say when it ended, and the daemon's clock is another
      ['fence', 20_000],
      ['probe', 180_000], // the agent's own 200 s for the whole command
    ])
    const report = await reportRollout(world.deps, { id })
    expect(report.steps.find(({ step }) => step === 'fence')).toEqual({
      step: 'fence',
      boxes: 1,
      medianMs: 20_000,
      worstMs: 20_000,
      worstSlug: 'acme',
    })
  })

  test('failures come first, then what took longest; fences are added up', async () => {
    const { world } = await setUp()
    world.fates.set('beta', ['rolls-back'])
    const id = await world.started()
    await world.settle()
    const report: RolloutReport = await reportRollout(world.deps, { id })
    expect(report.boxes.map(({ tenantSlug, status }) => [tenantSlug, status])[0]).toEqual(['beta', 'rolled_back'])
    expect(report).toMatchObject({
      boxesTotal: 3,
      rollout: { id, status: 'paused', counts: { succeeded: 1, rolledBack: 1, pending: 1 } },
      fence: { boxes: 2, sumMs: 300_000, medianMs: 150_000, worstMs: 150_000 },
    })
    expect(report.pauses).toMatchObject([{ by: 'system:rollouts', phase: 'free_5', until: null }])
    expect(report.phases.map(({ phase, boxes, succeeded, failed }) => [phase, boxes, succeeded, failed])).toEqual([
      ['canary', 1, 1, 0],
      ['free_5', 1, 0, 1],
    ])
  })

  test('a box that was shut more than once counts with all of it: each attempt, and its way back', async () => {
    const { world, db } = await setUp()
    world.fates.set('acme', ['rolls-back', 'commits'])
    world.fates.set('beta', ['pull-fails'])
    const id = await world.started()
    await world.settle()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect((await reportRollout(world.deps, { id })).fence).toMatchObject({ boxes: 1, sumMs: 300_000, worstMs: 300_000 })
    await world.rollBack(id, 'images')
    await world.settle()
    const fence = { boxes: 1, sumMs: 450_000, medianMs: 450_000, worstMs: 450_000, worstSlug: 'acme' }
    expect((await reportRollout(world.deps, { id })).fence).toMatchObject(fence)
    await db.deleteFrom('rollout_attempts').execute() // as after two years
    expect((await reportRollout(world.deps, { id })).fence).toMatchObject({ boxes: 1, sumMs: 150_000 })
  })

  test('the way back of all its boxes is told whole: from the word for it to its last box, and the worst of them', async () => {
    const { world, db } = await setUp()
    const id = await world.started({ holdAfter: 'free_100' })
    await world.settle()
    expect((await reportRollout(world.deps, { id })).rollback).toBeNull()
    const startedAt = isoNow(world.clock)
    await world.rollBack(id, 'images')
    expect((await reportRollout(world.deps, { id })).rollback).toEqual({ startedAt, endedAt: null, durationMs: 0, boxes: null })
    await world.clock.advance(60_000)
    await world.heartbeat()
    await world.tick()
    await world.clock.advance(120_000)
    await world.heartbeat()
    await world.settle()
    const whole = { startedAt, endedAt: isoNow(world.clock), durationMs: 180_000 }
    await world.clock.advance(3_600_000)
    const told = { ...whole, boxes: { boxes: 2, medianMs: 120_000, worstMs: 120_000, worstSlug: 'acme' } }
    expect((await reportRollout(world.deps, { id })).rollback).toEqual(told)
    await db.deleteFrom('rollout_attempts').execute() // as after two years
    expect((await reportRollout(world.deps, { id })).rollback).toEqual(told)
  })

  test('without evidence the way back tells of no box that serves as updated: its times are those of the update', async () => {
    const { world, db } = await setUp()
    const id = await world.started({ holdAfter: 'free_100' })
    await world.settle()
    await world.clock.advance(60_000)
    await world.heartbeat()
    await world.rollBack(id, 'images')
    world.fates.set('beta', ['rolls-back'])
    await world.settle()
    expect((await reportRollout(world.deps, { id })).rollback?.boxes?.boxes).toBe(2)
    await db.deleteFrom('rollout_attempts').execute()
    expect((await reportRollout(world.deps, { id })).rollback?.boxes).toMatchObject({ boxes: 1, worstSlug: 'acme' })
  })

  test('it tells how long it took, what of that was paused, and by whom', async () => {
    const { world } = await setUp()
    const id = await world.started()
    await pauseRollout(world.deps, anOperator, { id, reason: 'lunch' })
    await world.clock.advance(3_600_000)
    await world.heartbeat()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    const { pausedMs, durationMs, pauses, timeline } = await reportRollout(world.deps, { id })
    expect([pausedMs, durationMs]).toEqual([3_600_000, 3_600_000])
    expect(pauses).toMatchObject([{ by: 'admin:anna', reason: 'lunch', endedBy: 'admin:anna', durationMs: 3_600_000 }])
    expect(timeline.map(({ action }) => action).slice(0, 4)).toEqual([
      'rollout.created',
      'rollout.started',
      'rollout.paused',
      'rollout.resumed',
    ])
  })

  test('a box that was brought back with the rollout is no failure, one that could not be is', async () => {
    const { world, db } = await setUp()
    const id = await world.started()
    await world.settle()
    const set = (slug: string, rollback_status: 'done' | 'failed', status: 'rolled_back' | 'succeeded') =>
      db.updateTable('rollout_actions').set({ rollback_mode: 'images', rollback_status, status }).where('slug', '=', slug).execute()
    await set('acme', 'done', 'rolled_back')
    await set('gamma', 'failed', 'succeeded')
    const { boxes, phases, rollout } = await reportRollout(world.deps, { id })
    expect(boxes[0]?.tenantSlug).toBe('gamma')
    expect(phases.find(({ phase }) => phase === 'canary')).toMatchObject({ succeeded: 1, failed: 0 })
    expect(phases.find(({ phase }) => phase === 'pro')).toMatchObject({ succeeded: 1, failed: 1 })
    expect(rollout.counts.rollback).toMatchObject({ total: 2, done: 1, failed: 1 })
  })
})
