import { expect } from 'vitest'
import { simulatedImage } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aPayload, type aWorld } from './an-update.ts'

type World = Awaited<ReturnType<typeof aWorld>>
type Payload = BoxCommandPayload<'tenant-box.update'>

export const newMajor = 'registry.test/tenantry/postgres:17.6'
export const formerVolume = 'box-oak-postgres'

type Change = Readonly<{
  postgres?: string
  synapse?: string
  fence?: { [Key in keyof Payload['fence']]?: Payload['fence'][Key] | undefined }
}>

/** The order of an update to another major version of PostgreSQL. */
export function anUpgrade({ postgres = newMajor, synapse, fence = {} }: Change = {}): Payload {
  const target = (image: string) => ({ image, digest: simulatedImage(image).digest })
  const order = { mode: 'until-stable', snapshot: 'hot', upgrade: { way: 'dump-load', keepFormerDays: 7 }, ...fence } as Payload['fence']
  const services = { postgres: target(postgres), ...(synapse ? { synapse: target(synapse) } : {}) }
  return aPayload({ targets: { services, migrationsHead: '0000' }, fence: order })
}

export const volumeOf = async ({ host }: World, name: string): Promise<string> => (await host.engine.volumePath(name)) as string

async function expectServing(world: World) {
  const { host, box } = world
  expect(await host.engine.projects('dump-')).toEqual([])
  expect(host.openBackups()).toEqual([])
  expect(await world.fence()).toBeUndefined()
  expect(host.running(box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(host.traffic.content(box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
  expect(host.traffic.sendMessage(box)).toBe('stored')
  expect(host.traffic.content(box).messages).toBe(4)
}

/** The box runs on the volume of the new version, and only the former one is left beside it. */
export async function expectUpgraded(world: World, also: Partial<typeof images> = {}): Promise<void> {
  expect(await world.image('postgres')).toBe(newMajor)
  const text = await world.compose()
  expect(text.replace(/-r[0-9a-f]{8}-0/, '')).toBe(composeText('oak', { postgres: newMajor, ...also }))
  expect(text).toMatch(/box-oak-postgres-r[0-9a-f]{8}-0/)
  expect(world.host.volumeNames()).toHaveLength(4)
  expect(world.host.volumeNames()).toContain(formerVolume)
  const [kept, ...others] = (await world.boxes.find('oak'))?.formerDatabases ?? []
  expect(kept).toMatchObject({ volume: formerVolume, version: expect.stringMatching(/^15\./) })
  expect(others).toEqual([])
  await expectServing(world)
}

/** Byte for byte as before, on the former volume. */
export async function expectRolledBack(world: World): Promise<void> {
  expect(await world.compose()).toBe(composeText('oak'))
  expect(await world.image('postgres')).toBe(images.postgres)
  expect(world.host.volumeNames()).toHaveLength(3)
  expect((await world.boxes.find('oak'))?.formerDatabases).toBeUndefined()
  await expectServing(world)
}
