import { rm, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { knownMirrors, localBoxes, pinImage } from '../../../src/agent/boxes/index.ts'
import { memoryStore, openJournal } from '../../../src/agent/journal/index.ts'
import type { LocalImage } from '../../../src/agent/ports/index.ts'
import { simulatedImage } from '../../../src/agent/simulated/index.ts'
import { imageRemovals, imageSweeper } from '../../../src/agent/update/index.ts'
import { aHost, aRunningBox, composeText, images, moving } from '../simulated/boxes.ts'
import { aPayload, aWorld, newSynapse } from './an-update.ts'

const day = 86_400_000

/** The state without mirrors and without concurrent pulls. */
const alone = { removals: imageRemovals(), mirrors: { originNames: async () => (name: string) => name } }

async function aSweptHost({ keepDays = 30, allowedImages = ['registry.test/tenantry/*'] } = {}) {
  const host = await aHost()
  const box = await aRunningBox(host)
  const boxes = localBoxes(host.folder)
  await boxes.put(box)
  const journal = await openJournal({ store: memoryStore(), clock: host.clock })
  await moving(host.clock, () => host.engine.pull(newSynapse, {}))
  const sweeping = (other: Partial<Parameters<typeof imageSweeper>[0]>) =>
    imageSweeper({ ...host, ...alone, journal, boxes, allowedImages, keepDays, ...other })
  const sweep = sweeping({})
  const here = async () => (await host.engine.images()).flatMap(({ names }) => names).sort()
  return { host, box, boxes, journal, sweep, sweeping, here }
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
  const sweep = imageSweeper({ ...world.host, ...alone, journal, boxes, allowedImages: ['registry.test/tenantry/*'], keepDays: 30 })
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
  const { host, journal, sweep, sweeping } = await aSweptHost()
  await host.clock.advance(31 * day)
  await journal.begin({ commandId: 'u1', kind: 'tenant-box.update', slug: 'oak', payload: {} })
  expect(await sweep()).toEqual([])
  await journal.close('u1', {})
  expect(await sweeping({ keepDays: 0 })()).toEqual([])
  expect(await sweeping({ allowedImages: ['registry.test/tenantry/postgres'] })()).toEqual([])
  expect(await sweep()).toEqual([newSynapse])
})

test('one that is taken between the look and the removal stays', async () => {
  const { host, sweeping } = await aSweptHost()
  await host.clock.advance(31 * day)
  const engine = {
    ...host.engine,
    images: async (): Promise<readonly LocalImage[]> => {
      const seen = await host.engine.images()
      await host.engine.pin(newSynapse, 'oak')
      return seen
    },
  }
  const sweep = sweeping({ engine })
  expect(await sweep()).toEqual([])
})

test('one that a command looks for while it goes is here once it was brought, and so is its pin', async () => {
  const { host, journal, sweeping } = await aSweptHost()
  await host.clock.advance(31 * day)
  const removals = imageRemovals()
  let looked: () => void = () => undefined
  const hasLooked = new Promise<void>((resolve) => {
    looked = resolve
  })
  const waiting = removals.waitForRemovals(host.engine)
  const localDigest = (image: string) => {
    const found = waiting.localDigest(image)
    looked()
    return found
  }
  const bringing = { clock: host.clock, engine: { ...waiting, localDigest } }
  const { digest } = simulatedImage(newSynapse)
  let brought: Promise<void> = Promise.resolve()
  const removeImage = async (image: LocalImage) => {
    await journal.begin({ commandId: 'u1', kind: 'tenant-box.prefetch', slug: 'oak', payload: {} })
    brought = pinImage(bringing, { image: newSynapse, digest, signal: new AbortController().signal }, 'oak')
    await hasLooked
    await host.engine.removeImage(image)
  }
  const engine = { ...host.engine, removeImage }
  const sweep = sweeping({ engine, removals })
  expect(await sweep()).toEqual([newSynapse])
  await moving(host.clock, () => brought)
  expect(await host.engine.localDigest(newSynapse)).toBe(digest)
  expect(host.pinnedImages()).toEqual([newSynapse])
})

test('a command that begins before the removal does keeps what it will find here', async () => {
  const { host, journal, sweeping, here } = await aSweptHost()
  await host.clock.advance(31 * day)
  const removals = imageRemovals()
  const before = removals.exclusive(() => journal.begin({ commandId: 'u1', kind: 'tenant-box.prefetch', slug: 'oak', payload: {} }))
  const engine = { ...host.engine, images: async () => host.engine.images() }
  const sweep = sweeping({ engine, removals })
  expect(await sweep()).toEqual([])
  await before
  expect(await here()).toContain(newSynapse)
})

describe('an image that is known by the name of its mirror', () => {
  const mirror = 'mirror.test:5000/hub'
  const sweepOf = async (names: readonly string[], noted: Parameters<ReturnType<typeof knownMirrors>['record']>[0]) => {
    const { host, box, journal, boxes } = await aSweptHost()
    await host.clock.advance(31 * day)
    const removed: string[] = []
    const facts = { pulled: true, pinned: false, used: false, namedAt: new Date(0).toISOString() }
    const engine = {
      images: async () => [{ id: 'sha256:1', names, ...facts }],
      removeImage: async ({ id }: Pick<LocalImage, 'id'>) => void removed.push(id),
    }
    const mirrors = knownMirrors(host.folder)
    await mirrors.record(noted)
    const deps = { ...host, engine, journal, boxes, removals: imageRemovals(), allowedImages: ['registry.test/tenantry/*'], keepDays: 30 }
    return { box, removed, sweep: imageSweeper({ ...deps, mirrors: knownMirrors(host.folder) }) }
  }

  test.each([
    ['by a tag of it', [`${mirror}/tenantry/synapse:v1`]],
    ['by a digest alone', [`${mirror}/tenantry/synapse@sha256:${'0'.repeat(64)}`]],
    ['beside the name that was asked for', [`${mirror}/tenantry/synapse:v1`, 'registry.test/tenantry/synapse:v1']],
  ])('goes as that which it stands for would, %s', async (_, names) => {
    const { sweep, removed } = await sweepOf(names, { 'registry.test': { mirror } })
    expect(await sweep()).toEqual(names)
    expect(removed).toEqual(['sha256:1'])
  })

  test.each([
    ['where this host never asked that mirror', [`${mirror}/tenantry/synapse:v1`], { 'registry.test': {} }],
    ['where the mirror is of another registry', [`${mirror}/tenantry/synapse:v1`], { 'other.test': { mirror } }],
    ['where this host may not run it', [`${mirror}/others/synapse:v1`], { 'registry.test': { mirror } }],
    ['where a name only begins like the mirror', [`${mirror}2/tenantry/synapse:v1`], { 'registry.test': { mirror } }],
    ['where a compose file names what it stands for', [images.synapse.replace('registry.test', mirror)], { 'registry.test': { mirror } }],
  ])('stays %s', async (_, names, noted) => {
    const { sweep, removed } = await sweepOf(names, noted)
    expect(await sweep()).toEqual([])
    expect(removed).toEqual([])
  })
})

test('one that a box which is made meanwhile will start stays', async () => {
  const { host, box, sweeping } = await aSweptHost()
  await host.clock.advance(31 * day)
  const engine = {
    ...host.engine,
    images: async (): Promise<readonly LocalImage[]> => {
      await writeFile(box.project.composeFile, composeText(box.slug, { synapse: newSynapse }))
      return host.engine.images()
    },
  }
  const sweep = sweeping({ engine })
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
  const sweep = imageSweeper({ ...host, ...alone, engine, journal, boxes, allowedImages: [], keepDays: 30 })
  for (let minutes = 0; minutes < 120; minutes += 10) {
    await sweep()
    await host.clock.advance(10 * 60_000)
  }
  expect(looks).toBe(2)
})
