import { describe, expect, test } from 'vitest'
import type { FileStore } from '../../../src/agent/journal/index.ts'
import { type UpdateDeps, type UpdateSteps, updateSteps } from '../../../src/agent/update/index.ts'
import { UpdateStep } from '../../../src/core/boxes/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aContext, aPayload, aWorld, newSynapse, type Ports, withoutDaemon, wrapped } from './an-update.ts'
import { type Mortal, mortal, mortalAtChange, storeWhileAlive, type When } from './mortal.ts'

// An agent is killed at every place where it changes the world, before and after the touch; the next one knows only what is on disk.
// Whatever the place, the end is that of an agent that lived.

type World = Awaited<ReturnType<typeof aWorld>>
const paths = ['an update that proves healthy', 'an update that fails its probes'] as const
type Path = (typeof paths)[number]

const started = async (path: Path): Promise<World> => {
  const world = await aWorld()
  if (path === paths[1]) world.inject({ kind: 'probe-fails', image: newSynapse })
  return world
}

const killableStore = (fileStore: FileStore, { touch }: Mortal): FileStore => ({
  ...fileStore,
  write: async (name, text) => void (await touch('write', () => fileStore.write(name, text))),
})
const mortalSteps = ({ touch }: Mortal): UpdateSteps =>
  Object.fromEntries(
    UpdateStep.options.map((step) => [step, (run: Parameters<UpdateSteps['fence']>[0]) => touch(step, () => updateSteps[step](run))]),
  ) as UpdateSteps

/** One run that ends at the given place, then as many as needed; the daemon is away once the box is fenced. */
async function killedOnce(world: World, mortal: Mortal, deps: UpdateDeps, steps = updateSteps) {
  const secrets = aContext().secrets
  const away = { secrets: async () => ((await world.fence()) === undefined ? secrets() : withoutDaemon()) }
  const first = world.run(aPayload(), { deps, steps, context: aContext({ ...away, signal: mortal.signal }) })
  const lived = await first.catch((error: Error) => error)
  if (!(lived instanceof Error)) return lived
  expect(lived.message).toMatch(/killed|dead/)
  return world.run(aPayload(), { context: aContext() })
}

async function expectAsIfNothingHappened(world: World, path: Path, outcome: string) {
  const content = { messages: 3, media: 1, objects: 1 }
  expect(world.host.traffic.content(world.box)).toMatchObject(content)
  expect(await world.fence()).toBeUndefined()
  expect(world.host.running(world.box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(world.host.pinnedImages()).toEqual([])
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
  expect(outcome).toBe(path === paths[0] ? 'committed' : 'rolled_back')
  expect(await world.image('synapse')).toBe(path === paths[0] ? newSynapse : images.synapse)
  if (path === paths[0]) expect(await world.compose()).toBe(composeText('oak', { synapse: newSynapse }))
  else expect((await world.compose()).replace(/-r[0-9a-f]{8}-[0-9]+/, '')).toBe(composeText('oak'))
}

describe.each(paths)('%s', (path) => {
  // Every change by a call of the engine, the box and the snapshot store: also those in the midst of a step.
  test.each(['before', 'after'] as const)(
    'killed at every single change of the host, %s its effect',
    async (when) => {
      for (let place = 1; ; place++) {
        const world = await started(path)
        const life = mortalAtChange(place, when)
        const around = (ports: Ports) => wrapped(ports, life.touch)
        const result = await killedOnce(world, life, await world.agent(around, storeWhileAlive(world.fileStore, life)))
        if (!life.died()) return
        await expectAsIfNothingHappened(world, path, result.outcome)
      }
    },
    120_000,
  )

  test.each(['before', 'after'] as const)(
    'killed at every single line of the journal, %s it is written',
    async (when) => {
      const loads = new Set<number>()
      for (let place = 1; ; place++) {
        const world = await started(path)
        const life = mortal((touch) => touch === place, when)
        const deps = await world.agent((same) => same, killableStore(world.fileStore, life))
        const result = await killedOnce(world, life, deps)
        await expectAsIfNothingHappened(world, path, result.outcome)
        expect([world.counts.pull, world.counts.dumpDatabase]).toEqual([1, 1])
        if (path === paths[1]) loads.add(world.counts.loadDatabase ?? 0)
        if (!life.died()) break
      }
      // The cold copy is taken first; one that a server has run on is not taken twice.
      expect([...loads].toSorted()).toEqual(path === paths[0] ? [] : when === 'before' ? [0, 1] : [0])
    },
    120_000,
  )
})

describe('killed under the fence while the daemon stays away', () => {
  const killedAt = async (world: World, step: UpdateStep, when: When) => {
    const life = mortal((_, name) => name === step, when)
    const context = aContext({ signal: life.signal })
    await world.run(aPayload(), { steps: mortalSteps(life), context }).catch(() => undefined)
    expect(life.died()).toBe(true)
    return world.run(aPayload(), { context: aContext({ secrets: withoutDaemon }) })
  }

  test('before the snapshot was complete: nothing is touched, what was stopped runs again', async () => {
    const world = await aWorld()
    const result = await killedAt(world, 'snapshot', 'before')
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'UNREACHABLE', message: expect.stringContaining('no data was touched') },
    })
    expect(await world.compose()).toBe(composeText('oak'))
    expect(await world.fence()).toBeUndefined()
    expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
  })

  test('before the stop: the fence is lifted and nothing was stopped', async () => {
    const world = await aWorld()
    expect((await killedAt(world, 'stop', 'before')).outcome).toBe('failed')
    expect(await world.fence()).toBeUndefined()
    expect(world.counts.stop).toBeUndefined()
  })

  test.each(['cold-copy', 'rewrite', 'recreate', 'probe'] as const)('after the snapshot, at %s: it goes on alone', async (step) => {
    const world = await aWorld()
    expect((await killedAt(world, step, 'after')).outcome).toBe('committed')
  })

  test.each(['restore-stop', 'restore-data', 'restore-start', 'restore-probe'] as const)(
    'during the rollback, at %s: it continues alone',
    async (step) => {
      const world = await started(paths[1])
      expect((await killedAt(world, step, 'after')).outcome).toBe('rolled_back')
      expect(world.host.traffic.content(world.box).messages).toBe(3)
    },
  )
})

test('a host without power in the midst of an update comes back to the same end', async () => {
  for (const step of ['stop', 'snapshot', 'recreate', 'probe'] as const) {
    const world = await aWorld()
    const life = mortal((_, name) => name === step, 'after')
    await world.run(aPayload(), { steps: mortalSteps(life), context: aContext({ signal: life.signal }) }).catch(() => undefined)
    world.host.powerCut()
    await world.host.engine.start(world.box.project, ['edge', 'postgres', 'minio', 'synapse'])
    expect(['committed', 'rolled_back']).toContain((await world.run()).outcome)
    expect(world.host.traffic.content(world.box).messages).toBe(3)
    expect(await world.fence()).toBeUndefined()
  }
})

test('the deadline counts the time in which no agent ran', async () => {
  const world = await aWorld()
  const life = mortal((_, name) => name === 'probe', 'before')
  await world.run(aPayload(), { steps: mortalSteps(life), context: aContext({ signal: life.signal }) }).catch(() => undefined)
  await world.host.clock.advance(31 * 86_400_000)
  expect(await world.run()).toMatchObject({ outcome: 'rolled_back', error: { code: 'COMMAND_EXPIRED' } })
})
