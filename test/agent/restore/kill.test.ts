import { describe, expect, test } from 'vitest'
import { type RestoreDeps, type RestoreSteps, restoreStepsOfBox } from '../../../src/agent/restore/index.ts'
import { type RestoreStep, restoreSteps } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { composeText } from '../simulated/boxes.ts'
import { aContext, type Ports, withoutDaemon, wrapped } from '../update/an-update.ts'
import { type Mortal, mortal, mortalAtChange, storeWhileAlive } from '../update/mortal.ts'
import { aLivedOnBox, asInSnapshot, asItLivedOn, type LivedOn } from './a-restore.ts'

// An agent is killed at every place where it changes the world, before and after the change; the next one knows only what is on disk.
// Whatever the place, the end is that of an agent that lived.

const paths = ['a restore that proves healthy', 'a restore that cannot be loaded'] as const
type Path = (typeof paths)[number]

const started = async (path: Path): Promise<LivedOn> => {
  const world = await aLivedOnBox()
  if (path === paths[1]) world.inject({ kind: 'load-fails' })
  return world
}

const mortalSteps = ({ touch }: Mortal): RestoreSteps =>
  Object.fromEntries(
    restoreSteps.map((step) => [step, (run: Parameters<RestoreSteps['fence']>[0]) => touch(step, () => restoreStepsOfBox[step](run))]),
  ) as RestoreSteps

/** One run that ends at the given place, then as many as needed; the daemon is away once the box is fenced. */
async function killedOnce(world: LivedOn, life: Mortal, deps: RestoreDeps, steps = restoreStepsOfBox) {
  const { secrets } = aContext()
  const away = { secrets: async () => ((await world.fence()) === undefined ? secrets() : withoutDaemon()) }
  const lived = await world.run({}, { deps, steps, context: { ...away, signal: life.signal } }).catch((error: Error) => error)
  if (!(lived instanceof Error)) return lived
  expect(lived.message).toMatch(/killed|dead/)
  return world.run()
}

async function expectAsIfNothingHappened(world: LivedOn, path: Path, outcome: string) {
  expect(outcome).toBe(path === paths[0] ? 'restored' : 'failed')
  expect(world.host.traffic.content(world.box)).toMatchObject(path === paths[0] ? asInSnapshot : asItLivedOn)
  expect(await world.homeserver()).toBe(path === paths[0] ? 'as in the snapshot\n' : 'as it was changed later\n')
  expect((await world.compose()).replaceAll(/-r[0-9a-f]{8}-[0-9]+/g, path === paths[0] ? '' : 'changed')).toBe(composeText('oak'))
  expect(await world.fence()).toBeUndefined()
  expect(world.host.running(world.box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(world.host.pinnedImages()).toEqual([])
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
}

describe.each(paths)('%s', (path) => {
  const never: RestoreStep[] =
    path === paths[0] ? restoreSteps.filter((step) => step.startsWith('back')) : ['switch', 'start', 'probe', 'commit']
  const steps = restoreSteps.filter((step) => !never.includes(step))

  test.each(steps.flatMap((step) => [[step, 'before'] as const, [step, 'after'] as const]))(
    'killed at %s, %s its effect',
    async (step, when) => {
      const world = await started(path)
      const life = mortal((_, name) => name === step, when)
      const { outcome } = await killedOnce(
        world,
        life,
        await world.agent((same) => same, storeWhileAlive(world.fileStore, life)),
        mortalSteps(life),
      )
      expect(life.died()).toBe(true)
      await expectAsIfNothingHappened(world, path, outcome)
    },
  )

  // Every change by a call of the engine, the box and the snapshot store: also those in the midst of a step.
  test.each(['before', 'after'] as const)(
    'killed at every single change of the host, %s its effect',
    async (when) => {
      for (let place = 1; ; place++) {
        const world = await started(path)
        const life = mortalAtChange(place, when)
        const around = (ports: Ports) => wrapped(ports, life.touch)
        const { outcome } = await killedOnce(world, life, await world.agent(around, storeWhileAlive(world.fileStore, life)))
        if (!life.died()) return
        await expectAsIfNothingHappened(world, path, outcome)
      }
    },
    240_000,
  )
})

test('killed at the load, a half-filled volume is thrown away and the next try has one of its own', async () => {
  const world = await aLivedOnBox()
  const life = mortal((_, name) => name === 'loadDatabase', 'after')
  const around = (ports: Ports) => wrapped(ports, life.touch)
  await killedOnce(world, life, await world.agent(around, storeWhileAlive(world.fileStore, life)))
  expect(life.died()).toBe(true)
  expect(await world.compose()).toMatch(/box-oak-postgres-r[0-9a-f]{8}-2 /)
  expect(world.host.volumeNames().filter((name) => name.includes('postgres'))).toHaveLength(1)
})

test('a half-filled volume that does not go at once turns no restore round: it goes at the end', async () => {
  const world = await aLivedOnBox()
  const life = mortal((_, name) => name === 'loadDatabase', 'after')
  const mortalAgent = await world.agent((ports) => wrapped(ports, life.touch), storeWhileAlive(world.fileStore, life))
  await world.run({}, { deps: mortalAgent, context: { signal: life.signal } }).catch(() => undefined)
  expect(life.died()).toBe(true)
  let refusals = 0
  const removeVolume = async (name: string) => {
    if (/postgres-r[0-9a-f]{8}-1$/.test(name) && refusals++ === 0) throw problem('CONFLICT', `the volume ${name} is in use`)
    return world.host.engine.removeVolume(name)
  }
  const deps = await world.agent((ports) => ({ ...ports, engine: { ...ports.engine, removeVolume } }))
  expect(await world.run({}, { deps })).toMatchObject({ outcome: 'restored', error: null })
  expect(refusals).toBe(2)
  await expectAsIfNothingHappened(world, paths[0], 'restored')
})

test('killed under the fence while the daemon stays away: from the load on it continues alone, before that it rolls back', async () => {
  for (const [step, outcome] of [
    ['keep', 'failed'],
    ['load', 'restored'],
    ['switch', 'restored'],
    ['start', 'restored'],
    ['probe', 'restored'],
  ] as const) {
    const world = await aLivedOnBox()
    const life = mortal((_, name) => name === step, 'before')
    await world.run({}, { steps: mortalSteps(life), context: { signal: life.signal } }).catch(() => undefined)
    expect(life.died()).toBe(true)
    expect(await world.run({}, { context: { secrets: withoutDaemon } })).toMatchObject({ outcome })
    expect(await world.fence()).toBeUndefined()
  }
})

test('a host without power in the midst of a restore comes back to an end', async () => {
  for (const step of ['stop', 'keep', 'load', 'switch', 'start', 'probe'] as const) {
    const world = await aLivedOnBox()
    const life = mortal((_, name) => name === step, 'after')
    await world.run({}, { steps: mortalSteps(life), context: { signal: life.signal } }).catch(() => undefined)
    world.host.powerCut()
    await world.host.engine.start(world.box.project, ['edge', 'postgres', 'minio', 'synapse'])
    const { outcome } = await world.run()
    expect(['restored', 'failed']).toContain(outcome)
    expect(world.host.traffic.content(world.box)).toMatchObject(outcome === 'restored' ? asInSnapshot : asItLivedOn)
    expect(await world.fence()).toBeUndefined()
  }
})
