import { access, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handOver, remove } from '../../../src/agent/move/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, address, handOverPayload, running, twoHosts } from './a-move.ts'

// A box can be removed whatever its health: it is stopped, has its last snapshot where one can be taken, and what is left is named.

type Two = Awaited<ReturnType<typeof twoHosts>>
const secretly = (change = {}) => aContext('removal', change)

const stopIt = async ({ clock, old }: Two, change = {}) =>
  moving(clock, async () => handOver(await old.agent())(secretly(change), handOverPayload({ removal: true })), 5_000)
const eraseIt = async ({ clock, old }: Two) =>
  moving(clock, async () => remove(await old.agent())(aContext('erasure'), { ...address, ownershipEpoch: 1 }), 5_000)

const broken: [string, (two: Two) => Promise<unknown>, snapshot: boolean][] = [
  ['whose chat server is stopped', ({ old, box }) => old.host.engine.stop(box.project, ['synapse']), true],
  ['that is stopped', ({ old, box }) => old.host.engine.stop(box.project, ['edge', 'synapse', 'minio', 'postgres']), true],
  ['without a container of its database', ({ old, box }) => old.host.engine.discard(box.project, ['postgres']), false],
  ['without containers', ({ old, box }) => old.host.engine.down(box.project), false],
  ['without its volumes', ({ old, box }) => old.host.engine.down(box.project, { volumes: true }), false],
  ['without its compose file', ({ box }) => rm(box.project.composeFile), false],
  ['with a compose file that nobody can read', ({ box }) => writeFile(box.project.composeFile, 'services: ['), false],
  ['without its folder', ({ box }) => rm(box.project.folder, { recursive: true }), false],
]

test.each(broken)('a box %s is stopped, then erased', async (_, harm, hasSnapshot) => {
  const two = await twoHosts()
  const { old, box } = two
  await moving(two.clock, () => harm(two), 5_000)
  const { snapshot, noSnapshot } = await stopIt(two)
  expect([snapshot !== null, noSnapshot === undefined]).toEqual([hasSnapshot, hasSnapshot])
  expect(running(old, box).filter((service) => service !== 'edge')).toEqual([])
  const { removed } = await eraseIt(two)
  expect(removed.filter((one) => one.startsWith('left: '))).toEqual([])
  expect(old.host.volumeNames()).toEqual([])
  await expect(access(box.project.folder)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(await old.boxes.find('oak')).toBeUndefined()
})

test('a box that is whole keeps serving where its last snapshot fails: its data could be saved', async () => {
  const two = await twoHosts()
  two.old.host.inject({ kind: 'store-down' })
  await expect(stopIt(two)).rejects.toThrow(/oak serves as before/)
  expect(two.old.host.traffic.sendMessage(two.box)).toBe('stored')
})

test('a box that is not whole is not removed either while the store is away: its data may be all there', async () => {
  const two = await twoHosts()
  await moving(two.clock, () => two.old.host.engine.stop(two.box.project, ['synapse']), 5_000)
  two.old.host.inject({ kind: 'store-down' })
  await expect(stopIt(two)).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
})

test('a box that a failed command left fenced is removed behind that fence, and with services of its owner', async () => {
  const two = await twoHosts()
  const { old, box } = two
  const fence = join(box.project.folder, 'edge/fence/on')
  await writeFile(fence, JSON.stringify({ commandId: 'ro_1.oak.1.update' }))
  const text = await readFile(box.project.composeFile, 'utf8')
  await writeFile(box.project.composeFile, text.replace('\nservices:\n', '\nservices:\n  irc:\n    image: registry.test/irc:1\n'))
  expect(await stopIt(two)).toMatchObject({ snapshot: { tier: 'final' } })
  expect(await readFile(fence, 'utf8')).toContain('ro_1')
  expect((await old.boxes.find('oak'))?.handedOver).toBeDefined()
})

test('a removal names the stopped stack that the box was imported from', async () => {
  const two = await twoHosts()
  const { old, box } = two
  const { project, chatDomain } = box
  const stack = { project: 'hand', last: [], stopped: [], media: [], objects: null, addresses: [] }
  const database = { container: 'c', database: 'd', role: 'r', port: 5432, isLocal: true, otherSchemas: [], hasExtensions: false }
  const observed = { chatDomain, project: { ...project, folder: '/srv/hand' }, managed: false, ports: null }
  const imported = { at: '', commandId: 'i', mark: { position: 1, lastEvents: [] }, stack: { ...stack, database }, observed }
  await old.boxes.put({ ...box, imported })
  await stopIt(two)
  expect((await eraseIt(two)).removed).toContain('left: the stopped stack hand in /srv/hand, which was imported')
})
