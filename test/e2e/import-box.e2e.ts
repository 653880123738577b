import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BoxCommandPayload } from '../../src/core/boxes/index.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type AgentRooms, agentRooms } from './support/agent-rooms.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { importRoot, type StackSpec, stackSpecs, startStack, type WrittenStack } from './support/written-stack.ts'

// A foreign stack becomes a box at the same addresses, and back. Where anything fails, the stack runs as before.

const specs = testbedExists() ? await stackSpecs(importRoot) : []

let rooms: AgentRooms
const ended: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  rooms = await agentRooms('import-box')
})
afterAll(async () => {
  for (const end of ended.reverse()) await end().catch(() => undefined)
  await rooms?.end()
})

type Imported = Readonly<{ stack: WrittenStack; talk: Conversation; payload: BoxCommandPayload<'tenant-box.import'> }>

async function adopted(name: string, suffix = ''): Promise<Imported> {
  const spec = specs.find((one) => one.name === name) as StackSpec
  const port = boxPorts().public
  const slug = `imp-${name}${suffix}-${process.pid}`
  ended.push(() => rooms.engine.removeProject(slug))
  ended.push(() => rooms.engine.removeProject(`box-${slug}`))
  const stack = await startStack(spec, { testbed: readTestbed(), folder: join(rooms.folder, slug), slug, port })
  const talk = await converse(stack.open, 5)
  const known = { slug, boxId: `box_${slug}`, ownershipEpoch: 1 }
  await rooms.executors['tenant-box.adopt'](rooms.contextOf(`adopt-${slug}`).context, { ...known, folder: stack.folder, project: slug })
  const { images } = readTestbed()
  const payload: BoxCommandPayload<'tenant-box.import'> = {
    ...known,
    chatDomain: stack.chatDomain,
    publicUrl: stack.open.publicUrl,
    versions: { synapse: '1.163.2', postgres: '16.14' },
    drop: [],
    images: { edge: images.edge.ref, synapse: images['synapse-1.163.2'].ref, postgres: images.postgres.ref, minio: images.minio.ref },
    ports: boxPorts(),
    probe: { consecutive: 3, spacingMs: 500, timeoutMs: 60_000 },
    migrationsHead: '0000',
    deadlineMs: 20 * 60_000,
  }
  return { stack, talk, payload }
}

const running = async (project: string) => (await rooms.engine.projectContainers(project)).filter(({ isRunning }) => isRunning)
const importIt = ({ payload }: Imported, commandId: string) =>
  rooms.executors['tenant-box.import'](rooms.contextOf(commandId).context, payload)

describe.skipIf(!testbedExists())('an import', () => {
  test('makes a box of a stack at the same address, and returns to the stack', async () => {
    const one = await adopted('large')
    const { stack, talk, payload } = one
    const { slug } = stack
    const before = { files: await stack.files(), containers: await stack.containers() }
    const { facts, report } = await importIt(one, `import-${slug}`)
    expect(report).toMatchObject({ managed: true, fenced: false, installed: { synapse: '1.163.2' } })
    expect(facts).toMatchObject({ linkedFiles: expect.any(Number), comparedFiles: 1 })
    expect(facts.linkedFiles + facts.copiedFiles).toBeGreaterThan(0)
    expect(await running(slug)).toEqual([])
    expect(await running(`box-${slug}`)).toHaveLength(4)
    // The same clients with the same tokens at the same address.
    await talk.expectComplete()
    await talk.say('a message in the box')
    await talk.expectComplete()

    const { box: _, ...address } = { ...payload, box: null }
    const known = { slug: address.slug, boxId: address.boxId, ownershipEpoch: 1 }
    const state = await rooms.executors['tenant-box.import_state'](rooms.contextOf('state').context, known)
    expect(state).toMatchObject({ written: { events: 1, media: 0 }, stack: { project: slug } })
    const undone = await rooms.executors['tenant-box.undo_import'](rooms.contextOf(`undo-${slug}`).context, known)
    expect(undone).toMatchObject({ written: { events: 1 }, report: { managed: false } })
    expect(await running(`box-${slug}`)).toEqual([])
    expect({ files: await stack.files(), containers: await stack.containers() }).toEqual(before)
    await expect(talk.expectComplete()).rejects.toThrow(/a message in the box/)
    await talk.say('a message in the stack')
  })
})
