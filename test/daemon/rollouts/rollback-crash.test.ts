import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { isInFlight } from '../../../src/core/rollouts/index.ts'
import { makeRolloutEngine } from '../../../src/daemon/rollouts/index.ts'
import { resumeRollback, stopRollback } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'
import { type BoxSpec, digestOf, type Fate, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const fleet: BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'beta', canary: true },
  { slug: 'last', plan: 'pro' },
]
const commands = { images: ['observe', 'prefetch', 'update'], snapshot: ['observe', 'restore'] } as const

/** A process that is killed after its first step, before it could tell anybody. */
const dyingEngine = (world: RolloutWorld, owner: string) => {
  const killed = new AbortController()
  const rolloutBus = { ...world.deps.rolloutBus, changed: () => killed.abort() }
  const bus = { ...world.deps.bus, queued: () => undefined }
  return { engine: makeRolloutEngine({ ...world.deps, owner, bus, rolloutBus }), signal: killed.signal }
}

async function heldAfterCanary(world: RolloutWorld): Promise<string> {
  const id = await world.started({ holdAfter: 'canary' })
  await world.settle()
  expect((await world.show(id)).status).toBe('paused')
  return id
}

const rollbacksOf = async (world: RolloutWorld, id: string) => (await world.show(id)).counts.rollback

onBothDialects('the way back of a rollout whose engine is killed', (fresh) => {
  test.each(['images', 'snapshot'] as const)('after every step goes on by %s, and no command is given twice', async (mode) => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await heldAfterCanary(world)
    await world.rollBack(id, mode)
    for (let life = 0; (await rollbacksOf(world, id))?.done !== 2; life++) {
      expect(life).toBeLessThan(100)
      const { engine, signal } = dyingEngine(world, `replica-${life}`)
      await engine.tick(signal)
      const [command] = await world.open()
      if (command) await world.work(command)
      await world.clock.advance(30_000) // until then its lease stands in the way
      await world.heartbeat()
    }
    const second = (await world.commandIds()).filter((command) => command.includes('.2.'))
    expect(second).toEqual(['acme', 'beta'].flatMap((slug) => commands[mode].map((step) => `${id}.${slug}.2.${step}`)).sort())
    expect((await world.show(id)).actions.filter(({ rollback }) => rollback).map(({ attempt }) => attempt)).toEqual([2, 2])
    const rows = await world.deps.db.selectFrom('box_holds').selectAll().execute()
    expect(rows).toEqual([])
  })

  test('two replicas bring every box back once', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await heldAfterCanary(world)
    await world.engine.releaseLeases()
    await world.rollBack(id, 'images')
    const other = world.replica('replica-2')
    for (let turn = 0; turn < 20; turn++) {
      await Promise.all([world.tick(), world.tick(other)])
      for (const command of await world.open()) await world.work(command)
    }
    expect(await rollbacksOf(world, id)).toMatchObject({ done: 2, total: 2 })
    expect((await world.commandIds()).filter((command) => command.includes('.2.'))).toHaveLength(6)
  })
})

describe('whatever happens on the way back, in whatever order', () => {
  const boxes = Array.from({ length: 6 }, (_, n) => ({ slug: `box-${n}`, host: `host-${2 + (n % 4)}`, canary: true }))
  const fates: Fate[] = ['commits', 'commits', 'commits', 'pull-fails', 'fails', 'rolls-back', 'rollback-fails', 'refuses', 'lies']
  const happenings = [
    'tick',
    'tick',
    'other replica',
    'work',
    'work',
    'work',
    'take',
    'expire',
    'late answer',
    'resume',
    'stop',
    'killed',
    'time',
  ] as const
  type Happening = Readonly<{ what: (typeof happenings)[number]; pick: number; fate: Fate }>
  const aHappening: fc.Arbitrary<Happening> = fc.record({
    what: fc.constantFrom(...happenings),
    pick: fc.nat(5),
    fate: fc.constantFrom(...fates),
  })

  async function happen(world: RolloutWorld, id: string, { what, pick, fate }: Happening): Promise<void> {
    const open = await world.open()
    const one = open[pick % Math.max(1, open.length)]
    const does: Record<Happening['what'], () => Promise<unknown>> = {
      tick: () => world.tick(),
      'other replica': () => world.tick(world.replica('replica-2')),
      work: async () => {
        // Only a prefetch pulls.
        world.fates.set(one?.id.split('.')[1] ?? '', [fate === 'pull-fails' && one?.kind === 'tenant-box.update' ? 'fails' : fate])
        if (one) await world.work(one)
      },
      take: async () => one && world.take(one.id),
      expire: async () => pick === 0 && one && world.expire(one.id),
      'late answer': async () => {
        const [late] = await world.lost()
        const slug = late?.id.split('.')[1] ?? ''
        if (['pull-fails', 'refuses'].includes(world.fates.get(slug)?.[0] ?? '')) world.fates.set(slug, ['fails'])
        const { targets, snapshotId } = (late?.payload ?? {}) as { targets: never; snapshotId: string }
        if (late)
          await world.answer(late.id, late.kind === 'tenant-box.update' ? world.updated(slug, targets) : world.restored(slug, snapshotId))
      },
      resume: () => resumeRollback(world.deps, anOperator, { id }),
      stop: async () => pick === 0 && stopRollback(world.deps, anOperator, { id, reason: 'enough' }),
      killed: async () => {
        const { engine, signal } = dyingEngine(world, 'replica-3')
        await engine.tick(signal)
      },
      time: async () => {
        await world.clock.advance(pick * 10_000)
        await world.heartbeat()
      },
    }
    await does[what]().catch((error) => {
      if (!isProblem(error)) throw error
    })
  }

  test.each(['images', 'snapshot'] as const)(
    'by %s: at most three in flight and one per host, and every box that is back runs what it ran before',
    async (mode) => {
      await fc.assert(
        fc.asyncProperty(fc.array(aHappening, { minLength: 20, maxLength: 60 }), async (all) => {
          const { db } = await emptyDatabase('sqlite')
          try {
            const world = await rolloutWorld(db, [...boxes, { slug: 'last', plan: 'pro' }])
            const id = await heldAfterCanary(world)
            await world.rollBack(id, mode)
            for (const happening of all) {
              await happen(world, id, happening)
              const { status, actions, counts } = await world.show(id)
              expect(status).toBe('rolled_back')
              const flying = actions.filter((action) => isInFlight(action.status))
              expect(flying.length).toBeLessThanOrEqual(3)
              expect(new Set(flying.map(({ hostId }) => hostId)).size).toBe(flying.length)
              for (const { tenantSlug, rollback, status: stands } of actions) {
                if (rollback?.status === 'done')
                  expect([stands, world.installed.get(tenantSlug)?.synapse]).toEqual(['rolled_back', '1.157.1'])
                if (stands === 'rolled_back') expect(rollback?.status).toBe('done')
              }
              expect(counts.rollback?.total).toBe(6)
            }
            const attempts = await db.selectFrom('rollout_attempts').selectAll().where('status', '=', 'rolled_back').execute()
            for (const { digests_after } of attempts)
              expect(JSON.parse(digests_after)).toMatchObject({ synapse: digestOf('registry.example/synapse:v1.157.1') })
            const ids = (await world.commandIds()).filter((command) => !/\.1\.\w+$/.test(command))
            const step = mode === 'images' ? '(observe|prefetch|update)' : '(observe|restore)'
            expect(ids.filter((command) => !new RegExp(`^ro_\\w+\\.box-\\d\\.\\d+\\.${step}$`).test(command))).toEqual([])
          } finally {
            await db.destroy()
          }
        }),
        { numRuns: 10 },
      )
    },
    120_000,
  )
})
