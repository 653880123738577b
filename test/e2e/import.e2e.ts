import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImportPlan } from '../../src/core/boxes/index.ts'
import { dockerEnvironment, readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type AgentRooms, agentRooms } from './support/agent-rooms.ts'
import { converse } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'
import { type StackSpec, stackSpecs, startStack, type WrittenStack } from './support/written-stack.ts'

// The plan of an import names what runs, and leaves the stack as it is, byte for byte.

const specs = testbedExists() ? await stackSpecs() : []
const versions = { synapse: '1.163.2', postgres: '16.14' }

let rooms: AgentRooms
const ended: (() => Promise<unknown>)[] = []

const docker = (...args: string[]) => {
  const testbed = readTestbed()
  return execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false })
}

beforeAll(async () => {
  rooms = await agentRooms('import')
})
afterAll(async () => {
  for (const end of ended.reverse()) await end().catch(() => undefined)
  await rooms?.end()
})

/** The database server of another project, on a network that both share. */
async function startSharedDatabase(slug: string): Promise<void> {
  const network = `${slug}-proxy`
  await docker('network', 'create', network)
  ended.push(() => docker('network', 'rm', network))
  const variables = [
    'POSTGRES_USER=synapse',
    'POSTGRES_PASSWORD=correct-horse-battery-staple',
    'POSTGRES_INITDB_ARGS=--encoding=UTF8 --locale=C',
  ]
  const name = `${slug}-shared`
  await docker(
    'run',
    '-d',
    '--name',
    name,
    '--network',
    network,
    ...variables.flatMap((one) => ['-e', one]),
    readTestbed().images.postgres.ref,
  )
  ended.push(() => docker('rm', '-f', '-v', name))
  await eventually('the shared database answers', async () => {
    const { exitCode } = await docker('exec', name, 'psql', '-h', '127.0.0.1', '-U', 'synapse', '-c', 'select 1').catch(() => ({
      exitCode: 1,
    }))
    return exitCode === 0
  })
}

async function started(spec: StackSpec) {
  const port = boxPorts().public
  const slug = `import-${spec.name}-${process.pid}`
  if (spec.name === 'second-database') await startSharedDatabase(slug)
  ended.push(() => rooms.engine.removeProject(slug))
  const stack = await startStack(spec, { testbed: readTestbed(), folder: join(rooms.folder, slug), slug, port })
  return { stack, talk: await converse(stack.open, 3) }
}

async function plan({ slug, folder, chatDomain }: WrittenStack, drop: string[] = []): Promise<ImportPlan> {
  const known = { slug, boxId: `box_${slug}`, ownershipEpoch: 1 }
  await rooms.executors['tenant-box.adopt'](rooms.contextOf('adopt').context, { ...known, folder, project: slug })
  const { context } = rooms.contextOf('plan')
  return (await rooms.executors['tenant-box.survey_import'](context, { ...known, chatDomain, versions, drop })).plan
}

/** Files of the owner, containers with their start, and the programs' own folders. */
async function stateOf(stack: WrittenStack): Promise<object> {
  const files = await stack.files()
  const ids = (await stack.containers()).map((line) => line.split(' ')[1] as string)
  const states = await docker('inspect', '-f', '{{.Id}} {{.State.StartedAt}} {{.RestartCount}}', ...ids)
  const changes = await Promise.all(ids.map(async (id) => (await docker('diff', id)).stdout))
  return { files, states: states.stdout, changes: changes.map((listed) => listed.split('\n').toSorted()) }
}

const expected: Readonly<Record<string, (slug: string) => object>> = {
  large: (slug) => ({
    serverName: `${slug}.test`,
    chatServer: { container: `${slug}-chat`, version: '1.157.1', configFiles: ['/data/homeserver.yaml'] },
    database: { container: `${slug}-postgres-1`, name: 'matrix', user: 'matrix' },
    media: { path: '/media/store', missing: 0 },
    objects: { container: `${slug}-minio-1` },
  }),
  'second-database': (slug) => ({
    chatServer: { container: `${slug}-synapse-1`, configFiles: ['/data/homeserver.yaml', '/data/local.yaml'] },
    database: { container: `${slug}-shared`, name: 'synapse', user: 'synapse' },
  }),
  socket: (slug) => ({
    chatServer: {
      container: `${slug}-chat-1`,
      configFiles: ['/data/homeserver.yaml', ...['10-first', '20-database', '30-empty'].map((name) => `/data/conf.d/${name}.yaml`)],
    },
    database: { container: `${slug}-db-1`, name: 'synapse', user: 'synapse' },
    objects: null,
  }),
  'own-role': (slug) => ({ database: { container: `${slug}-postgres-1`, name: 'synapse', user: 'synapse_user' } }),
}

describe.skipIf(!testbedExists())('the plan of an import', () => {
  test.each(specs.filter(({ name }) => expected[name]))('names what runs and changes nothing: $name', async (spec) => {
    const { stack, talk } = await started(spec)
    const before = await stateOf(stack)
    // The database that the stack still starts is not the one in use.
    const left = { 'second-database': [`${stack.slug}-postgres-1`], large: ['extensions'] }[spec.name] ?? []
    expect((await plan(stack)).dropped.map(({ name }) => name)).toEqual(left)
    const { ready, blockers, found, carried, warnings, space, downtimeMs } = await plan(stack, left)
    expect(blockers).toEqual([])
    expect(ready).toBe(true)
    expect(found).toMatchObject((expected[spec.name] as (slug: string) => object)(stack.slug))
    expect(found.database?.rows.users).toBeGreaterThan(0)
    expect(found.database?.connections).toBeGreaterThan(0)
    expect(found.media).toMatchObject({ named: found.media?.checked, missing: 0 })
    const origins = Object.fromEntries(carried.map(({ name, origin }) => [name, origin]))
    expect(origins).toMatchObject({
      'signing key': 'ed25519:a_hand',
      'old signing key': 'ed25519:a_old',
      macaroon_secret_key: expect.stringMatching(/^\/data\/homeserver\.yaml:\d+$/),
    })
    expect(warnings.filter((line) => /local\.yaml:2 replaces it/.test(line))).toHaveLength(spec.name === 'second-database' ? 1 : 0)
    expect(warnings.includes('/data/conf.d/30-empty.yaml has no effect: it is empty or no map of settings')).toBe(spec.name === 'socket')
    expect(space.neededBytes).toBeGreaterThan(2 * (found.database?.bytes ?? 0))
    expect(downtimeMs).toBeGreaterThan(30_000)
    expect(JSON.stringify({ found, carried, warnings })).not.toMatch(/macaroons of|correct-horse/)
    expect(await stateOf(stack)).toEqual(before)
    await talk.expectComplete()
    await stack.stop()
    const stopped = await plan(stack)
    expect(stopped.ready).toBe(false)
    expect(stopped.blockers[0]).toMatch(/^No chat server \(Synapse\) runs/)
  })
})
