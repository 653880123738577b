import { describe, expect, test } from 'vitest'
import { simulatedImage } from '../../../src/agent/simulated/index.ts'
import { prefetch } from '../../../src/agent/update/index.ts'
import { images, moving } from '../simulated/boxes.ts'
import { aContext, aPayload, aWorld, newSynapse, withoutDaemon } from './an-update.ts'

type World = Awaited<ReturnType<typeof aWorld>>

const aPrefetch = (target: { image: string; digest?: string } = { image: newSynapse }, change = {}) => ({
  slug: 'oak',
  boxId: 'box_oak',
  ownershipEpoch: 1,
  targets: { services: { synapse: target }, migrationsHead: '0000' },
  ...change,
})
const run = async (world: World, payload = aPrefetch(), context = aContext({ commandId: 'ro_1.box_oak.1.prefetch' })) => {
  const deps = await world.agent()
  return moving(world.host.clock, () => prefetch(deps)(context, payload))
}

describe('a prefetch', () => {
  test('finds out the digest of a tag, keeps new and former images, and takes no service away', async () => {
    const world = await aWorld()
    const steps: string[] = []
    const result = await run(world, aPrefetch(), aContext({ progress: ({ step }) => void steps.push(step) }))
    expect(result.digests).toEqual({ [newSynapse]: simulatedImage(newSynapse).digest })
    expect(world.host.pinnedImages()).toEqual([...Object.values(images), newSynapse].sort())
    expect(world.counts.stop ?? 0).toBe(0)
    expect(steps).toContain('pull')
    expect(await world.fence()).toBeUndefined()
  })

  test('its update pulls nothing any more, and lets the images go at the end', async () => {
    const world = await aWorld()
    await run(world)
    expect((await world.run(aPayload())).outcome).toBe('committed')
    expect(world.counts.pull).toBe(1)
    expect(world.host.pinnedImages()).toEqual([])
  })

  test('a warm snapshot is taken, and is not the complete one', async () => {
    const world = await aWorld()
    await run(world)
    expect(world.counts.take).toBe(1)
    const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }
    expect(await world.host.snapshots.ofCommand(repository, 'ro_1.box_oak.1.prefetch')).toBeUndefined()
  })

  test('it and its update show why they wait for the store, and their step again once they continue', async () => {
    const world = await aWorld()
    const deps = await world.agent((ports) => ({
      ...ports,
      snapshots: {
        ...ports.snapshots,
        take: async (repository, request, signal) => {
          for (const reason of ['the lock of another restic', undefined]) request.onWaiting?.(reason)
          return ports.snapshots.take(repository, request, signal)
        },
      },
    }))
    const steps: string[] = []
    const progress = (one: { step: string; detail?: string | undefined }) =>
      void steps.push(one.step === 'waiting' ? `waiting for ${one.detail}` : one.step)
    await moving(world.host.clock, () => prefetch(deps)(aContext({ commandId: 'ro_1.box_oak.1.prefetch', progress }), aPrefetch()))
    await world.run(aPayload(), { deps, context: aContext({ progress }) })
    const after = steps.flatMap((step, at) => (step === 'waiting for the lock of another restic' ? [steps[at + 1]] : []))
    expect(after).toEqual(['warm-snapshot', 'snapshot'])
  })

  test('a registry that is away for a moment is tried again', async () => {
    const world = await aWorld()
    world.inject({ kind: 'registry-down', times: 3 })
    await run(world)
    expect(world.counts.pull).toBe(4)
  })

  test('a failure is the same one when it is asked for again, and nothing is pulled for it', async () => {
    const world = await aWorld()
    world.inject({ kind: 'tag-missing', image: newSynapse, times: 1 })
    await expect(run(world)).rejects.toMatchObject({ code: 'PULL_FAILED' })
    await expect(run(world)).rejects.toMatchObject({ code: 'PULL_FAILED' })
    expect(world.counts.pull).toBe(1)
  })

  const refusals = [
    ['an image that the host does not allow', aPrefetch({ image: 'evil.test/synapse:v1' }), 'IMAGE_NOT_ALLOWED'],
    ['an older owner', aPrefetch(undefined, { ownershipEpoch: 0 }), 'LEASE_LOST'],
    ['another box under the name', aPrefetch(undefined, { boxId: 'box_elm' }), 'NOT_FOUND'],
  ] as const
  test.each(refusals)('%s is refused', async (_, payload, code) => {
    await expect(run(await aWorld(), payload)).rejects.toMatchObject({ code })
  })

  test('without the daemon there is no warm snapshot, and so no prefetch', async () => {
    const asked = run(await aWorld(), aPrefetch(), aContext({ secrets: withoutDaemon }))
    await expect(asked).rejects.toMatchObject({ code: 'UNREACHABLE' })
  })

  test('an abort leaves it open, to be gone on with', async () => {
    const world = await aWorld()
    const abort = new AbortController()
    abort.abort(new Error('the agent drains'))
    await expect(run(world, aPrefetch(), aContext({ signal: abort.signal }))).rejects.toThrow('drains')
    expect(await (await world.agent()).journal.open()).toHaveLength(1)
  })
})
