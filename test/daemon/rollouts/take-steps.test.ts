import { expect, test } from 'vitest'
import { holdsOf } from '../../../src/daemon/boxes/index.ts'
import { acquireLease, eventsAfter, type Lease } from '../../../src/daemon/db/index.ts'
import { round } from '../../../src/daemon/rollouts/engine/round.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const fleet = ['acme', 'beta', 'cora'].map((slug) => ({ slug, canary: true }))

onBothDialects('steps of several boxes that are due in the same moment', (fresh) => {
  /** All three are asked what runs on them and have answered; the next round examines them. */
  const answered = async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    const lease = (await acquireLease(world.deps, { name: `rollout:${id}`, owner: world.deps.holder, ttlMs: 30_000 })) as Lease
    let commits = 0
    const changed = () => {
      commits += 1
    }
    const deps = { ...world.deps, rolloutBus: { ...world.deps.rolloutBus, changed } }
    const next = async () => {
      const before = commits
      const { waitingFor } = await round({ deps, lease, rolloutId: id }, world.signal)
      return { commits: commits - before, waitsFor: waitingFor.map((command) => command.id) }
    }
    await next()
    for (const command of await world.open()) await world.work(command)
    return { world, id, next }
  }
  const toldOf = async ({ deps }: RolloutWorld, id: string, status: string) => {
    const events = await eventsAfter(deps.db, { stream: `rollout:${id}`, after: 0 })
    const actions = events.map(({ payload }) => (payload as { action: { tenantSlug: string; status: string } | null }).action)
    return actions.flatMap((action) => (action?.status === status ? [action.tenantSlug] : [])).sort()
  }

  test('are one commit, and the commands of all of them are waited for', async () => {
    const { world, id, next } = await answered()
    const { commits, waitsFor } = await next()
    expect(commits).toBe(1)
    expect(waitsFor).toEqual(expect.arrayContaining(fleet.map(({ slug }) => `${id}.${slug}.1.prefetch`)))
    expect(await toldOf(world, id, 'pulling')).toEqual(['acme', 'beta', 'cora'])
  })

  test('are taken one by one where one cannot be: the others go on, nothing happens twice, and it follows once it can', async () => {
    const { world, id, next } = await answered()
    const { db } = world.deps
    const ofAnother = await db.selectFrom('commands').selectAll().where('id', '=', `${id}.acme.1.observe`).executeTakeFirstOrThrow()
    const inTheWay = `${id}.beta.1.prefetch`
    await db
      .insertInto('commands')
      .values({ ...ofAnother, id: inTheWay })
      .execute()
    expect((await next()).commits).toBe(2)
    expect(await world.statuses(id)).toEqual({ acme: 'pulling', beta: 'preflight', cora: 'pulling' })
    expect(await toldOf(world, id, 'pulling')).toEqual(['acme', 'cora'])
    await db.deleteFrom('commands').where('id', '=', inTheWay).execute()
    await next()
    expect(await toldOf(world, id, 'pulling')).toEqual(['acme', 'beta', 'cora'])
  })

  test('are taken one by one where somebody else has taken one of the boxes meanwhile: only that one is not updated, and he keeps it', async () => {
    const { world, id, next } = await answered()
    const { db } = world.deps
    await next()
    for (const command of await world.open()) await world.work(command)
    const other = { holder: 'restore:cmd_1', until: '2999-01-01T00:00:00.000Z' }
    await db.updateTable('box_holds').set(other).where('box_id', '=', 'box_beta').execute()
    await next()
    expect(await world.statuses(id)).toEqual({ acme: 'pulling', beta: 'failed', cora: 'pulling' })
    const holds = await holdsOf(db, world.clock)
    expect([...holds.values()].map(({ holder }) => holder).sort()).toEqual([other.holder, `rollout:${id}`, `rollout:${id}`])
    expect((await world.commandIds()).filter((command) => command.endsWith('.update'))).toEqual([
      `${id}.acme.1.update`,
      `${id}.cora.1.update`,
    ])
  })

  test('give back the holds of all of them together, and of no other', async () => {
    const { world, id, next } = await answered()
    const { db } = world.deps
    await next()
    for (let step = 0; step < 2; step++) {
      for (const command of await world.open()) await world.work(command)
      await next()
    }
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'succeeded', cora: 'succeeded' })
    expect(await holdsOf(db, world.clock)).toEqual(new Map())
  })
})
