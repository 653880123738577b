import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { isInFlight, isOver } from '../../../src/core/rollouts/index.ts'
import { acquireLease, type Lease } from '../../../src/daemon/db/index.ts'
import { makeRolloutEngine, rolloutLoop } from '../../../src/daemon/rollouts/index.ts'
import { abortRollout, beginUpdate, pauseRollout, resumeRollout, runRollout } from '../../../src/daemon/rollouts/testing.ts'
import { runLoop } from '../../../src/daemon/work/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'
import { type Fate, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const fleet = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'cora' }, { slug: 'prima', plan: 'pro' as const }]
const steps = ['observe', 'prefetch', 'update']
const oncePerBox = (id: string) => fleet.flatMap(({ slug }) => steps.map((step) => `${id}.${slug}.1.${step}`)).sort()

/** A process that is killed after its first step, before it could tell anybody. */
const dyingEngine = (world: RolloutWorld, owner: string) => {
  const killed = new AbortController()
  const rolloutBus = { ...world.deps.rolloutBus, changed: () => killed.abort() }
  const bus = { ...world.deps.bus, queued: () => undefined }
  const engine = makeRolloutEngine({ ...world.deps, owner, bus, rolloutBus })
  return { engine, signal: killed.signal }
}

onBothDialects('the rollout engine, killed', (fresh) => {
  test('after every step, its successor goes on and no command is given twice', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    for (let life = 0; (await world.show(id)).status !== 'done'; life++) {
      expect(life).toBeLessThan(100)
      const { engine, signal } = dyingEngine(world, `replica-${life}`)
      await engine.tick(signal)
      const [command] = await world.open()
      if (command) await world.work(command)
      await world.clock.advance(30_000) // until then its lease stands in the way
    }
    expect(await world.commandIds()).toEqual(oncePerBox(id))
    expect((await world.show(id)).actions.map(({ status, attempt }) => [status, attempt])).toEqual(fleet.map(() => ['succeeded', 1]))
  })

  test('leaves a lease: nobody else drives the rollout until it ends', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    await world.tick(world.replica('replica-2'))
    expect(await world.commandIds()).toEqual([`${id}.acme.1.observe`])
    await world.clock.advance(30_000)
    await world.tick(world.replica('replica-2'))
    expect(await world.commandIds()).toEqual([`${id}.acme.1.observe`, `${id}.acme.1.prefetch`])
  })

  test('an owner that was only slow writes nothing once another has taken over', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { deps, clock, signal } = world
    const id = await world.started()
    const lease = (await acquireLease(deps, { name: `rollout:${id}`, owner: 'slow', ttlMs: 30_000 })) as Lease
    await clock.advance(30_000)
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    const before = await world.show(id)
    await expect(runRollout({ deps, lease, rolloutId: id }, signal)).rejects.toSatisfy((error) => isProblem(error, 'LEASE_LOST'))
    expect(await world.show(id)).toEqual(before)
  })

  test('what was decided before a pause is not begun after it', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { deps } = world
    const id = await world.started()
    const lease = (await acquireLease(deps, { name: `rollout:${id}`, owner: deps.owner, ttlMs: 30_000 })) as Lease
    await pauseRollout(deps, anOperator, { id, reason: 'lunch time' })
    await beginUpdate({ deps, lease, rolloutId: id }, 'acme')
    expect(await world.statuses(id)).toMatchObject({ acme: 'pending' })
    expect(await world.commandIds()).toEqual([])
  })

  test('two replicas drive every rollout once', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const ids = [await world.started({ targetSlugs: ['acme', 'beta'] }), await world.started({ targetSlugs: ['cora', 'prima'] })]
    const other = world.replica('replica-2')
    for (let turn = 0; turn < 40; turn++) {
      await Promise.all([world.tick(), world.tick(other)])
      for (const command of await world.open()) await world.work(command)
    }
    for (const id of ids) expect((await world.show(id)).counts).toMatchObject({ succeeded: 2, total: 2 })
    expect(await world.commandIds()).toHaveLength(fleet.length * steps.length)
  })

  test('stopped in good order it hands its leases back', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    await world.tick()
    await world.engine.releaseLeases()
    for (const command of await world.open()) await world.work(command)
    await world.tick(world.replica('replica-2'))
    expect(await world.commandIds()).toContain(`${id}.acme.1.prefetch`)
  })

  test('the loop wakes a moment after a command changed, and ends when it is told to drain', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    const draining = new AbortController()
    const running = runLoop(world.deps, rolloutLoop(world.deps), draining.signal)
    // Next to no time passes: what moves the engine on is being woken.
    const until = async (reached: () => Promise<boolean>) => {
      for (let look = 0; !(await reached()); look++) {
        if (look > 100_000) throw new Error('it never came to that')
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    for (const step of steps) {
      await until(async () => (await world.open()).some((command) => command.id === `${id}.acme.1.${step}`))
      await until(async () => world.clock.sleepers() > 0)
      for (const command of await world.open()) await world.work(command)
      await world.clock.advance(20)
    }
    await until(async () => (await world.show(id)).status === 'done')
    draining.abort()
    await running
    expect(await acquireLease(world.deps, { name: `rollout:${id}`, owner: 'other', ttlMs: 1 })).toBeDefined()
  })
})

describe('whatever comes in whatever order', () => {
  const fates: Fate[] = ['commits', 'pull-fails', 'fails', 'rolls-back', 'rollback-fails', 'lies', 'refuses']
  const boxes = Array.from({ length: 8 }, (_, n) => ({
    slug: `box-${n}`,
    host: `host-${2 + (n % 5)}`,
    plan: n > 5 ? ('pro' as const) : ('light' as const),
    canary: n < 6, // a phase with more boxes than may be in flight, and one after it
  }))

  type Happening = Readonly<{ what: string; pick: number; fate: Fate }>
  const weights = [
    ['tick', 8],
    ['other replica', 4],
    ['work', 10],
    ['take', 2],
    ['progress', 2],
    ['expire', 1],
    ['late answer', 2],
    ['pause', 1],
    ['resume', 2],
    ['skip failed', 1],
    ['abort', 1],
    ['time passes', 3],
    ['killed', 2],
  ] as const
  const aHappening: fc.Arbitrary<Happening> = fc.record({
    what: fc.oneof(...weights.map(([what, weight]) => ({ arbitrary: fc.constant(what as string), weight }))),
    pick: fc.nat(7),
    fate: fc.constantFrom(...fates, 'commits' as const, 'commits' as const, 'commits' as const),
  })

  async function happen(world: RolloutWorld, id: string, { what, pick, fate }: Happening): Promise<void> {
    const open = await world.open()
    const one = open[pick % Math.max(1, open.length)]
    const slug = one?.id.split('.')[1] ?? ''
    const does: Record<string, () => Promise<unknown>> = {
      tick: () => world.tick(),
      'other replica': () => world.tick(world.replica('replica-2')),
      work: async () => {
        // Only a prefetch pulls.
        world.fates.set(slug, [fate === 'pull-fails' && one?.kind === 'tenant-box.update' ? 'fails' : fate])
        if (one) await world.work(one)
      },
      take: async () => one && world.take(one.id),
      progress: async () => one && world.tellProgress(one.id, ['prefetch', 'stop', 'probe', 'restore-data'][pick % 4] as string),
      expire: async () => one && world.expire(one.id),
      'late answer': async () => {
        const [late] = await world.lost()
        if (!late) return
        const updated = late.id.split('.')[1] ?? ''
        if (['pull-fails', 'refuses'].includes(world.fates.get(updated)?.[0] ?? '')) world.fates.set(updated, ['fails'])
        await world.answer(late.id, world.updated(updated, (late.payload as { targets: never }).targets))
      },
      pause: () => pauseRollout(world.deps, anOperator, { id, reason: 'lunch time' }),
      resume: () => resumeRollout(world.deps, anOperator, { id, skipFailed: false }),
      'skip failed': () => resumeRollout(world.deps, anOperator, { id, skipFailed: true }),
      abort: async () => pick === 0 && abortRollout(world.deps, anOperator, { id }),
      'time passes': async () => {
        await world.clock.advance(pick * 10_000)
        await world.heartbeat()
      },
      killed: async () => {
        const { engine, signal } = dyingEngine(world, 'replica-3')
        await engine.tick(signal)
      },
    }
    await does[what]?.().catch((error) => {
      if (!isProblem(error)) throw error
    })
  }

  test('at most three are in flight and one per host, ends are for good, and each attempt has each command once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aHappening, { minLength: 20, maxLength: 90 }),
        fc.constantFrom(1, 2, 100),
        async (happenings, failureThreshold) => {
          const { db } = await emptyDatabase('sqlite')
          try {
            const world = await rolloutWorld(db, boxes)
            const id = await world.started({ failureThreshold })
            const ended = new Map<string, string>()
            let over: string | undefined
            for (const happening of happenings) {
              await happen(world, id, happening)
              const { status, actions } = await world.show(id)
              const flying = actions.filter((action) => isInFlight(action.status))
              expect(flying.length).toBeLessThanOrEqual(3)
              expect(new Set(flying.map(({ hostId }) => hostId)).size).toBe(flying.length)
              over ??= isOver(status) ? status : undefined
              if (over) expect(status).toBe(over)
              for (const { tenantSlug, status, attempt } of actions) {
                const key = `${tenantSlug}.${attempt}`
                const before = ended.get(key)
                // Only a resume opens what had failed, and then as what has not begun.
                if (before) expect([before, 'pending', 'cancelled']).toContain(status)
                if (['succeeded', 'skipped', 'cancelled'].includes(status) || (over && !isInFlight(status))) ended.set(key, status)
                if (['succeeded', 'skipped', 'cancelled'].includes(before ?? '')) expect(status).toBe(before)
              }
              const openBoxes = (await world.open()).map(({ boxId }) => boxId)
              expect(new Set(openBoxes).size).toBe(openBoxes.length)
            }
            const ids = await world.commandIds()
            expect(ids.filter((command) => !/^ro_\w+\.box-\d\.\d+\.(observe|prefetch|update)$/.test(command))).toEqual([])
          } finally {
            await db.destroy()
          }
        },
      ),
      { numRuns: 40 },
    )
  })
})
