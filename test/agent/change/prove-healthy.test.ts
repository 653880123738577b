import { expect, test } from 'vitest'
import type { BoxServers } from '../../../src/agent/ports/index.ts'
import type { ProbeResult } from '../../../src/core/boxes/index.ts'
import { images } from '../simulated/boxes.ts'
import { aPayload, aWorld, newSynapse, type Ports } from '../update/an-update.ts'

const proven = { mode: 'until-proven' as const, formerSchema: 94 }
type World = Awaited<ReturnType<typeof aWorld>>

const withServers = (world: World, change: (servers: BoxServers) => Partial<BoxServers>) =>
  world.agent((ports: Ports) => ({ ...ports, servers: { ...ports.servers, ...change(ports.servers) } }))

const elapsedOf = async (world: World, step: string, mark: string): Promise<number> => {
  const { journal } = await world.agent()
  const entry = (await journal.find('ro_1.box_oak.1.update'))?.entries.find((one) => one.step === step && one.mark === mark)
  return entry?.elapsedMs ?? Number.NaN
}

test('a container that dies during a probe ends that probe at once', async () => {
  const world = await aWorld()
  let isDead = false
  const deps = await withServers(world, ({ probe }) => ({
    probe: async (box, signal) => {
      if (isDead || (await world.image('synapse')) !== newSynapse) return probe(box, signal)
      isDead = true
      await world.host.engine.stop(box.project, ['synapse'])
      // A server that no longer answers: the probe ends by its signal only.
      return new Promise<ProbeResult>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    },
  }))
  const result = await world.run(aPayload(), { deps })
  expect(result).toMatchObject({ outcome: 'rolled_back', error: { message: expect.stringContaining('synapse of oak is exited') } })
  expect((await elapsedOf(world, 'probe', 'failed')) - (await elapsedOf(world, 'probe', 'intent'))).toBeLessThan(30_000)
})

test('a server whose background updates make progress is given more than two minutes', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse })
  let progress = 0
  const deps = await withServers(world, ({ databaseFacts }) => ({
    databaseFacts: async (box) => {
      const facts = await databaseFacts(box)
      return facts && { ...facts, backgroundProgress: `${progress++}` }
    },
  }))
  const result = await world.run(aPayload(), { deps })
  expect(result).toMatchObject({ outcome: 'rolled_back', error: { message: expect.stringContaining('within 30 min') } })
})

test('an open box is rolled back seconds after it began to fail, and not after two minutes', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse, onceOpen: true })
  const result = await world.run(aPayload({ fence: proven }))
  expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'images', downtime: { mode: 'until-proven' } })
  expect((await elapsedOf(world, 'probe', 'failed')) - (await elapsedOf(world, 'unfence', 'done'))).toBeLessThan(60_000)
  expect(await world.image('synapse')).toBe(images.synapse)
})

test('a box without a fence whose chat server starts slowly is given as long as any other', async () => {
  const world = await aWorld()
  let startedMs: number | undefined
  const deps = await withServers(world, ({ probe }) => ({
    probe: async (box, signal) => {
      const found = await probe(box, signal)
      if ((await world.image('synapse')) !== newSynapse) return found
      startedMs ??= world.host.clock.monotonicMs()
      return world.host.clock.monotonicMs() - startedMs < 60_000 ? { ...found, verdict: 'failed' as const, reason: 'starting' } : found
    },
  }))
  expect(await world.run(aPayload({ fence: { mode: 'none', formerSchema: 94 } }), { deps })).toMatchObject({ outcome: 'committed' })
})

/** A background update of the new version that never ends. */
const withNewUpdate = (world: Awaited<ReturnType<typeof aWorld>>) =>
  withServers(world, ({ databaseFacts }) => ({
    databaseFacts: async (box) => {
      const facts = await databaseFacts(box)
      return facts && (await world.image('synapse')) === newSynapse ? { ...facts, backgroundUpdates: ['new_index'] } : facts
    },
  }))

test('a background update that the former version may meet does not keep the box closed', async () => {
  const world = await aWorld()
  const fence = { ...proven, harmlessUpdates: ['new_index'] }
  const result = await world.run(aPayload({ fence }), { deps: await withNewUpdate(world) })
  expect(result).toMatchObject({ outcome: 'committed', downtime: { mode: 'until-proven' } })
  expect(await elapsedOf(world, 'unfence', 'done')).toBeLessThanOrEqual(await elapsedOf(world, 'probe', 'intent'))
})

test('a box that fails once open is rolled back by images although a harmless background update is pending', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse, onceOpen: true })
  const fence = { ...proven, harmlessUpdates: ['new_index'] }
  const result = await world.run(aPayload({ fence }), { deps: await withNewUpdate(world) })
  expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'images' })
})

test('a background update that the former version does not know keeps the box closed until it is stable', async () => {
  const world = await aWorld()
  const deps = await withNewUpdate(world)
  const result = await world.run(aPayload({ fence: proven }), { deps })
  expect(result).toMatchObject({
    outcome: 'committed',
    downtime: { mode: 'until-stable', reason: expect.stringContaining('new_index') },
  })
  expect(result.fencedMs).toBeGreaterThan(120_000)
  expect(await elapsedOf(world, 'probe', 'intent')).toBeNaN()
})

test('a box opens as soon as the background updates of the new version are done', async () => {
  const world = await aWorld()
  let reads = 0
  const deps = await withServers(world, ({ databaseFacts }) => ({
    databaseFacts: async (box) => {
      const facts = await databaseFacts(box)
      if (!facts || (await world.image('synapse')) !== newSynapse) return facts
      reads += 1
      return reads > 4 ? facts : { ...facts, backgroundUpdates: ['new_index'] }
    },
  }))
  const result = await world.run(aPayload({ fence: proven }), { deps })
  expect(result).toMatchObject({ outcome: 'committed', downtime: { mode: 'until-proven' } })
  expect(await elapsedOf(world, 'unfence', 'done')).toBeLessThanOrEqual(await elapsedOf(world, 'probe', 'intent'))
})

test('a restored box opens after quick probes', async () => {
  const world = await aWorld()
  world.inject({ kind: 'dies-at-start', image: newSynapse })
  const result = await world.run(aPayload())
  expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'snapshot' })
  const good = result.probes.filter(({ verdict }) => verdict === 'ok').map(({ at }) => Date.parse(at))
  expect(good).toHaveLength(3)
  expect((good[2] as number) - (good[0] as number)).toBeLessThan(60_000)
})
