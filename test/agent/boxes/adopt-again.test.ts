import { rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { newBoxSecrets, writeBoxSecrets } from '../../../src/agent/boxes/box-secrets.ts'
import { adoptAgain, createFenceFile } from '../../../src/agent/boxes/index.ts'
import { memoryLocks } from '../../../src/agent/journal/index.ts'
import { seededRandom } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { aLivedOnBox, asInSnapshot } from '../restore/a-restore.ts'
import { aContext, aPayload } from '../update/an-update.ts'

type Payload = BoxCommandPayload<'tenant-box.adopt_again'>

/** A box that an update has fenced, on a host whose agent then lost its state folder. */
async function aLostBox({ boxId = 'box_oak', holder = 'ro_1.box_oak.1.update' } = {}) {
  const world = await aLivedOnBox()
  const { host, box, boxes } = world
  const { folder, name } = box.project
  await writeBoxSecrets(box.project, newBoxSecrets(seededRandom('secrets'), boxId))
  await createFenceFile(box.project, { commandId: holder, raisedAt: '2026-01-05T14:02:00.000Z' })
  await boxes.remove('oak')
  const { journal } = await world.agent()
  const settings = { boxesFolder: folder.slice(0, folder.lastIndexOf('/')) }
  const deps = { ...host, boxes, journal, settings, locks: memoryLocks(), clock: host.clock }
  const again = (change: Partial<Payload> = {}) =>
    adoptAgain(deps)(aContext(), {
      ...{ slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1, chatDomain: box.chatDomain, managed: true, ports: box.ports },
      ...{ folder, project: name },
      ...change,
    })
  return { ...world, again }
}

test('a managed box gets its record again, and nothing in it changes', async () => {
  const { again, boxes, box, fence, host } = await aLostBox()
  const before = await fence()
  const { report } = await again()
  expect(report).toMatchObject({ slug: 'oak', managed: true, fenced: true })
  expect(await boxes.find('oak')).toMatchObject({ ...box, managed: true, orphanFence: 'ro_1.box_oak.1.update' })
  expect(await fence()).toBe(before)
  expect(host.running(box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
})

test('a restore takes over the fence of the lost command', async () => {
  const { again, run, fence, host, box } = await aLostBox()
  expect(await run().catch(({ code }) => code)).toBe('NOT_FOUND')
  await again()
  await rm(`${box.project.folder}/secrets`, { recursive: true }) // the snapshot of this world has none
  expect(await run()).toMatchObject({ outcome: 'restored', error: null })
  expect(await fence()).toBeUndefined()
  expect(host.traffic.content(box)).toMatchObject(asInSnapshot)
})

test('no update begins behind the fence of the lost command', async () => {
  const { again, fence, agent, host, box } = await aLostBox()
  await again()
  const before = await fence()
  const { update } = await import('../../../src/agent/update/index.ts')
  const deps = { ...(await agent()), clock: host.clock } as never
  const context = aContext({ commandId: 'ro_2.box_oak.1.update' })
  expect(await update(deps)(context, aPayload())).toMatchObject({ outcome: 'failed', error: { code: 'BOX_HELD' } })
  expect(await fence()).toBe(before)
  expect(host.running(box.project.name)).toContain('synapse')
})

test('files of another box are refused', async () => {
  const { again, boxes } = await aLostBox({ boxId: 'box_other' })
  await expect(again()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('box_other') })
  expect(await boxes.find('oak')).toBeUndefined()
})

test('a box with a record keeps it, and a record of a newer owner refuses', async () => {
  const { again, boxes, box } = await aLostBox()
  await boxes.put({ ...box, ownershipEpoch: 2, migrationsHead: '0003' })
  await expect(again()).rejects.toMatchObject({ code: 'LEASE_LOST' })
  await again({ ownershipEpoch: 2 })
  expect(await boxes.find('oak')).toEqual({
    ...{ ...box, ownershipEpoch: 2, migrationsHead: '0003' },
    orphanFence: 'ro_1.box_oak.1.update',
  })
})

test('maintenance stays maintenance', async () => {
  const { again, boxes, box } = await aLostBox()
  await writeFile(`${box.project.folder}/edge/fence/on`, JSON.stringify({ holder: 'maintenance' }))
  await again()
  expect((await boxes.find('oak'))?.orphanFence).toBeUndefined()
})

test('a box whose journal alone was lost keeps its record, with the fence that no command will lift', async () => {
  const { again, boxes, box, fence } = await aLostBox()
  await boxes.put(box)
  const before = await fence()
  await again()
  expect(await boxes.find('oak')).toEqual({ ...box, orphanFence: 'ro_1.box_oak.1.update' })
  expect(await fence()).toBe(before)
})
