import { rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { localBoxes } from '../../../src/agent/boxes/index.ts'
import { memoryShelf, openJournal } from '../../../src/agent/journal/index.ts'
import type { LocalImage } from '../../../src/agent/ports/index.ts'
import { imageSweeper } from '../../../src/agent/update/index.ts'
import { aHost, aRunningBox, composeText, images, moving } from '../simulated/boxes.ts'
import { aPayload, aWorld, newSynapse } from './an-update.ts'

const day = 86_400_000

async function aSweptHost({ keepDays = 30, allowedImages = ['registry.test/tenantry/*'] } = {}) {
  const host = await aHost()
  const box = await aRunningBox(host)
  const boxes = localBoxes(host.folder)
  await boxes.put(box)
  const journal = await openJournal({ shelf: memoryShelf(), clock: host.clock })
  await moving(host.clock, () => host.engine.pull(newSynapse, {}))
  const sweep = imageSweeper({ ...host, journal, boxes, allowedImages, keepDays })
  const here = async () => (await host.engine.images()).flatMap(({ names }) => names).sort()
  return { host, box, boxes, journal, sweep, here }
}

const ofBox = Object.values(images).sort()

test('an image that no box has goes a month after it was brought, and no other', async () => {
  const { host, sweep, here } = await aSweptHost()
  await host.clock.advance(29 * day)
  expect(await sweep()).toEqual([])
  await host.clock.advance(2 * day)
  expect(await sweep()).toEqual([newSynapse])
  expect(await here()).toEqual(ofBox)
})

test('the former image of an update stays for as long after it: its rollout may still be taken back without the registry', async () => {
  const world = await aWorld()
  await world.host.clock.advance(100 * day)
  expect(await world.run(aPayload())).toMatchObject({ outcome: 'committed' })
  const { journal, boxes } = await world.agent()
  const sweep = imageSweeper({ ...world.host, journal, boxes, allowedImages: ['registry.test/tenantry/*'], keepDays: 30 })
  expect(await sweep()).toEqual([])
  await world.host.clock.advance(31 * day)
  expect(await sweep()).toEqual([images.synapse])
})

test('what a compose file names stays, though its containers were taken away', async () => {
  const { host, box, sweep } = await aSweptHost()
  await writeFile(box.project.composeFile, composeText(box.slug, { synapse: newSynapse }))
  await host.engine.discard(box.project, ['synapse'])
  await host.clock.advance(31 * day)
  expect(await sweep()).toEqual([images.synapse])
})

test.each([
  ['a digest', `registry.test/tenantry/synapse:v1@sha256:${'0'.repeat(64)}`],
  ['a variable for its tag', ['registry.test/tenantry/synapse:$', '{SYNAPSE}'].join('')],
  ['no tag', 'registry.test/tenantry/synapse'],
])('of an image that a compose file names with %s, all of the repository stays', async (_, image) => {
  const { host, box, sweep } = await aSweptHost()
  await writeFile(box.project.composeFile, composeText(box.slug, { synapse: image }))
  await host.clock.advance(31 * day)
  expect(await sweep()).toEqual([])
})

test('where even the repository is a variable nothing goes', async () => {
  const { host, box, sweep } = await aSweptHost()
  await writeFile(box.project.composeFile, composeText(box.slug, { minio: ['$', '{MINIO}'].join('') }))
  await host.clock.advance(31 * day)
  expect(await sweep()).toEqual([])
})

test('what a service names that somebody added to a box stays as well', async () => {
  const { host, box, sweep } = await aSweptHost()
  const text = composeText(box.slug).replace('services:\n', `services:\n  bridge:\n    image: ${newSynapse}\n`)
  await writeFile(box.project.composeFile, text)
  await host.clock.advance(31 * day)
  expect(await sweep()).toEqual([])
})

test('where a box cannot be read nothing goes', async () => {
  const { host, box, sweep } = await aSweptHost()
  await host.clock.advance(31 * day)
  await rm(box.project.composeFile)
  expect(await sweep()).toEqual([])
})

test('nothing goes while something is done to a box, nor where it is to be kept for ever, nor what this host may not run', async () => {
  const { host, journal, sweep, boxes } = await aSweptHost()
  await host.clock.advance(31 * day)
  await journal.begin({ commandId: 'u1', kind: 'tenant-box.update', slug: 'oak', payload: {} })
  expect(await sweep()).toEqual([])
  await journal.close('u1', {})
  const needs = { ...host, journal, boxes }
  expect(await imageSweeper({ ...needs, allowedImages: ['registry.test/tenantry/*'], keepDays: 0 })()).toEqual([])
  expect(await imageSweeper({ ...needs, allowedImages: ['registry.test/tenantry/postgres'], keepDays: 30 })()).toEqual([])
  expect(await sweep()).toEqual([newSynapse])
})

test('one that is taken between the look and the removal stays', async () => {
  const { host, journal, boxes } = await aSweptHost()
  await host.clock.advance(31 * day)
  const engine = {
    ...host.engine,
    images: async (): Promise<readonly LocalImage[]> => {
      const seen = await host.engine.images()
      await host.engine.pin(newSynapse, 'oak')
      return seen
    },
  }
  const sweep = imageSweeper({ ...host, engine, journal, boxes, allowedImages: ['registry.test/tenantry/*'], keepDays: 30 })
  expect(await sweep()).toEqual([])
})

test('one that a box which is made meanwhile will start stays', async () => {
  const { host, box, journal, boxes } = await aSweptHost()
  await host.clock.advance(31 * day)
  const engine = {
    ...host.engine,
    images: async (): Promise<readonly LocalImage[]> => {
      await writeFile(box.project.composeFile, composeText(box.slug, { synapse: newSynapse }))
      return host.engine.images()
    },
  }
  const sweep = imageSweeper({ ...host, engine, journal, boxes, allowedImages: ['registry.test/tenantry/*'], keepDays: 30 })
  expect(await sweep()).toEqual([])
})

test('the engine is asked once an hour at most', async () => {
  const { host, journal, boxes } = await aSweptHost()
  let looks = 0
  const looking = () => {
    looks += 1
    return host.engine.images()
  }
  const engine = { ...host.engine, images: looking }
  const sweep = imageSweeper({ ...host, engine, journal, boxes, allowedImages: [], keepDays: 30 })
  for (let minutes = 0; minutes < 120; minutes += 10) {
    await sweep()
    await host.clock.advance(10 * 60_000)
  }
  expect(looks).toBe(2)
})
