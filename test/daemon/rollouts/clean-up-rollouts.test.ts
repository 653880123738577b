import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { verifyAudit } from '../../../src/daemon/audit/read-audit.ts'
import { cleanUpRollouts } from '../../../src/daemon/rollouts/index.ts'
import { followRollout, pauseRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

const day = 86_400_000

onBothDialects('what is kept of rollouts', (fresh) => {
  const setUp = async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const { db } = world.deps
    const id = await world.started()
    const count = async (table: 'events' | 'rollout_attempts' | 'rollout_actions' | 'audit') =>
      Number(
        (
          await db
            .selectFrom(table)
            .select((select) => select.fn.countAll().as('rows'))
            .executeTakeFirstOrThrow()
        ).rows,
      )
    const forget = () => cleanUpRollouts(world.deps, world.signal)
    return { world, db, id, count, forget }
  }
  const story = async (deps: Parameters<typeof followRollout>[0], id: string, lastEventId?: string) => {
    const seen = []
    for await (const { event } of await followRollout(deps, { id, lastEventId, signal: new AbortController().signal })) seen.push(event)
    return seen
  }

  test('events go ninety days after the end, evidence after two years; the record and its audit chain stay', async () => {
    const { world, id, count, forget, db } = await setUp()
    await world.settle()
    const ofRollout = (await story(world.deps, id)).length
    const [events, audit] = [await count('events'), await count('audit')]
    await world.clock.advance(90 * day - 1000)
    expect(await forget()).toBe('0 events of rollouts, the evidence of 0 attempts')
    await world.clock.advance(1000)
    expect(await forget()).toBe(`${ofRollout} events of rollouts, the evidence of 0 attempts`)
    expect(await count('events')).toBe(events - ofRollout)
    await world.clock.advance(640 * day)
    expect(await forget()).toBe('0 events of rollouts, the evidence of 2 attempts')
    expect(await count('rollout_actions')).toBe(2)
    expect(await count('audit')).toBe(audit)
    expect((await verifyAudit({ db }, {})).every(({ ok }) => ok)).toBe(true)
    expect(await world.show(id)).toMatchObject({ status: 'done', counts: { succeeded: 2 } })
  })

  test('who asks for a story that is gone is told so; who had heard it to its end is not', async () => {
    const { world, id, forget } = await setUp()
    await world.settle()
    const { lastEventId } = await world.show(id)
    await world.clock.advance(91 * day)
    await forget()
    await expect(story(world.deps, id)).rejects.toSatisfy(
      (error) => isProblem(error, 'NOT_FOUND') && /rollouts show/.test(error.message) && /90 days/.test(error.message),
    )
    await expect(story(world.deps, id, '3')).rejects.toSatisfy((error) => isProblem(error, 'NOT_FOUND'))
    expect(await story(world.deps, id, lastEventId)).toEqual([])
  })

  test('a rollout that is paused for years keeps all', async () => {
    const { world, id, forget } = await setUp()
    await pauseRollout(world.deps, anOperator, { id, reason: 'holidays' })
    await world.settle()
    await world.clock.advance(3 * 365 * day)
    expect(await forget()).toBe('0 events of rollouts, the evidence of 0 attempts')
  })

  test('evidence of a box that rests until somebody mends it stays', async () => {
    const { world, count, forget } = await setUp()
    world.fates.set('acme', ['rollback-fails'])
    await world.settle()
    const { deps } = world
    await deps.db.updateTable('rollouts').set({ status: 'failed', finished_at: deps.clock.now().toISOString() }).execute()
    await world.clock.advance(3 * 365 * day)
    await forget()
    expect(await count('rollout_attempts')).toBe(1)
  })
})
