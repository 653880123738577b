import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BoxCommandPayload } from '../../src/core/boxes/index.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type AgentRooms, agentRooms } from './support/agent-rooms.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { type StackSpec, stackSpecs, startStack, type WrittenStack } from './support/written-stack.ts'

// A foreign stack becomes a box at the same addresses, and back. Where anything fails, the stack runs as before.

const specs = testbedExists() ? await stackSpecs() : []

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
    versions: { synapse: '1.163.2', postgres: images.postgres.tag },
    drop: [],
    images: { edge: images.edge.ref, synapse: images['synapse-1.163.2'].ref, postgres: images.postgres.ref, minio: images.minio.ref },
    ports: boxPorts(),
    probe: { consecutive: 3, spacingMs: 500, timeoutMs: 60_000 },
    migrationsHead: '0000',
    deadlineMs: 20 * 60_000,
  }
  return { stack, talk, payload }
}

const psql = async (project: string, role: string, sql: string): Promise<string> => {
  const argv = ['psql', '-h', '127.0.0.1', '-U', role, '-d', 'synapse', '-v', 'ON_ERROR_STOP=1', '-Atc', sql]
  const { exitCode, stdout, stderr } = await rooms.engine.exec(`${project}-postgres-1`, argv)
  expect([exitCode, stderr]).toEqual([0, expect.not.stringMatching(/ERROR/)])
  return stdout.trim()
}

/** Roles, rights and objects of other programs in the database of a stack. */
const ofOthers = `create role postgres login; create role "Graf Ana" login password 'q'; create role readers; grant readers to "Graf Ana";
create role app login password 'z'; alter role app set search_path = 'nowhere'; alter database synapse set work_mem = '7MB';
create table notes (id serial primary key, text text); insert into notes (text) select 'a' from generate_series(1, 10);
create view of_notes as select * from notes; create type mood as enum ('a', 'b'); create domain short as text; create sequence counts owned by none;
create function one(int) returns int language sql as 'select 1'; create table apps (a int); alter table apps owner to app;
grant select on all tables in schema public to "Graf Ana"; grant connect on database synapse to readers;
alter default privileges grant select on tables to "Graf Ana"; create publication all_notes for table notes;`

const running = async (project: string) =>
  (await rooms.engine.projectContainers(project)).filter(({ isRunning }) => isRunning).map(({ name }) => name)
const importIt = ({ payload }: Imported, commandId: string, change: Partial<Imported['payload']> = {}) =>
  rooms.executors['tenant-box.import'](rooms.contextOf(commandId).context, { ...payload, ...change })
const addressOf = ({ payload: { slug, boxId, ownershipEpoch } }: Imported) => ({ slug, boxId, ownershipEpoch })

/** Files of the owner, and the same containers as before: none was recreated. */
const stateOf = async ({ stack }: Imported) => ({
  files: await stack.files(),
  containers: await stack.containers(),
  running: await running(stack.slug),
})

describe.skipIf(!testbedExists())('an import', () => {
  test('makes a box of a stack at the same address, and returns to the stack', async () => {
    const one = await adopted('large')
    const { stack, talk } = one
    const before = await stateOf(one)
    const { facts, report } = await importIt(one, `import-${stack.slug}`, { drop: ['extensions'] })
    expect(report).toMatchObject({ managed: true, fenced: false, installed: { synapse: '1.163.2' } })
    expect(facts.linkedFiles).toBeGreaterThan(0)
    expect(facts.databaseCopy).toEqual({ mode: 'dump', reason: expect.stringMatching(/sorts by C\.UTF-8|extensions/) })
    expect(facts).toMatchObject({ copiedFiles: 0, comparedFiles: 1, addresses: [`127.0.0.1:${new URL(stack.open.publicUrl).port}`] })
    expect(await running(stack.slug)).toEqual([])
    // The same clients with the same tokens at the same address.
    await talk.expectComplete()
    await talk.say('a message in the box')
    await talk.expectComplete()

    const state = await rooms.executors['tenant-box.import_state'](rooms.contextOf('state').context, addressOf(one))
    expect(state).toMatchObject({ written: { events: 1, media: 0 }, stack: { project: stack.slug } })
    const undone = await rooms.executors['tenant-box.undo_import'](rooms.contextOf(`undo-${stack.slug}`).context, addressOf(one))
    expect(undone).toMatchObject({ written: { events: 1 }, report: { managed: false } })
    expect(await running(`box-${stack.slug}`)).toEqual([])
    expect(await stateOf(one)).toEqual(before)
    await expect(talk.expectComplete()).rejects.toThrow(/to deeply equal/)
  })

  test('of a stack with workers stops them too: nobody is served from the former database', async () => {
    const one = await adopted('workers')
    const { stack, talk } = one
    const before = await stateOf(one)
    const redis = `${stack.slug}-redis-1`
    await psql(stack.slug, 'synapse', ofOthers)
    await expect(importIt(one, `blocked-${stack.slug}`, { drop: [redis] })).rejects.toMatchObject({
      message: expect.stringMatching(new RegExp(`workers \\(.*container ${stack.slug}-synapse-worker-1\\) is not carried over`)),
    })
    expect(await stateOf(one)).toEqual(before)
    const { facts } = await importIt(one, `import-${stack.slug}`, { drop: [redis, 'workers'] })
    expect(facts.databaseCopy).toEqual({ mode: 'hot' })
    // One role without powers owns all of it, and no role of the stack is left.
    const roles = "select string_agg(rolname || ' ' || rolsuper, ', ' order by oid) from pg_roles where oid = 10 or oid >= 16384"
    expect(await psql(`box-${stack.slug}`, 'postgres', roles)).toBe('postgres true, synapse false')
    const owned = `insert into notes (text) values ('b') returning id; alter table notes add more int; drop view of_notes; drop function one(int); drop type mood`
    expect(await psql(`box-${stack.slug}`, 'synapse', owned)).toMatch(/^11\b/)
    expect(await running(stack.slug)).toEqual([redis])
    await talk.expectComplete()
    await talk.say('a message in the box')
    await talk.expectComplete()
    await rooms.executors['tenant-box.undo_import'](rooms.contextOf(`undo-${stack.slug}`).context, addressOf(one))
    expect(await stateOf(one)).toEqual(before)
  })

  test('returns to the stack where the box does not get healthy', async () => {
    const one = await adopted('own-role')
    const before = await stateOf(one)
    const images = { ...one.payload.images, synapse: readTestbed().images['synapse-dies'].ref }
    await expect(importIt(one, `broken-${one.stack.slug}`, { images })).rejects.toMatchObject({
      message: expect.stringMatching(/The stack runs again as before/),
    })
    expect(await stateOf(one)).toEqual(before)
    expect(await rooms.engine.projects(`box-${one.stack.slug}`)).toEqual([])
    await one.talk.say('a message after the return')
    await one.talk.expectComplete()
  })
})
