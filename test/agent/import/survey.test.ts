import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type SurveyDeps, surveyStack } from '../../../src/agent/import/survey.ts'
import type { ContainerEngine, HostContainer, LocalBox } from '../../../src/agent/ports/index.ts'
import { isFound } from '../../../src/core/boxes/index.ts'

// Stacks as people have them, by the recorded answers of their programs: what is found, and what an import would stop.

type Answers = Readonly<{ media?: object; chat?: object; backends?: readonly object[]; database?: object; rows?: object }>

const aContainer = (name: string, address: string, change: Partial<HostContainer> = {}): HostContainer => ({
  ...{ id: `id-${name}`, name: `linden-${name}-1`, project: 'linden', service: name, image: `${name}:1`, command: [] },
  ...{ addresses: [address], mounts: [], published: [], alwaysRestarts: false },
  ...change,
})
const chat = aContainer('matrix', '10.0.0.2', { mounts: [{ source: '/srv/chat', target: '/data' }] })
const postgres = aContainer('sql', '10.0.0.3', { mounts: [{ source: '/srv/db', target: '/var/lib/postgresql/data' }] })
const connection = { address: '10.0.0.2', port: 40_000, toAddress: '10.0.0.3', toPort: 5432 }
const backend = { database: 'chat', user: 'chat', address: '10.0.0.2', port: 40_000 }

const chatFacts = {
  ...{ version: '1.157.1', startedAt: '2026-02-01T00:00:00+00:00', apps: ['synapse.app.homeserver'], unread: [] },
  config: [
    {
      ...{ path: '/data/homeserver.yaml', changedAt: '2026-01-01T00:00:00+00:00', problem: null },
      settings: { server_name: { line: 1, value: 'linden.test' } },
    },
  ],
  ...{ keyApiName: null, clientApiAnswers: true, signingKeyId: 'ed25519:a', otherSigningKeyIds: [] },
  ...{ connections: [connection], mediaPath: '/data/media_store', database: { host: 'sql', user: 'chat', dbname: 'chat' } },
}
const databaseFacts = {
  ...{ bytes: 1_000, version: '16.4', encoding: 'UTF8', missingTables: [], otherSchemas: [], unreadable: [] },
  ...{ extensions: [], extensionUses: [], otherDatabases: [], dataFolder: '/var/lib/postgresql/data' },
}
const chatRows = {
  ...{ schemaVersion: 92, compatVersion: 90, backgroundUpdates: [], remoteMembers: 0, accountDomains: ['linden.test'], appservices: [] },
  rows: { users: 1, rooms: 1, events: 1, devices: 1, media: 0 },
}

async function surveyOf(answers: Answers = {}, containers: readonly HostContainer[] = [chat, postgres]) {
  const say = (value: unknown) => ({ exitCode: 0, stdout: typeof value === 'string' ? value : JSON.stringify(value), stderr: '' })
  const exec: ContainerEngine['exec'] = async (id, argv, options) => {
    const sql = String(options?.stdin ?? '')
    if (id === chat.id && argv[0] === 'python3')
      return say(
        argv.at(-1) === '/data/media_store'
          ? { bytes: 0, missing: [], damaged: [], links: [], ...answers.media }
          : { ...chatFacts, ...answers.chat },
      )
    if (id === 'id-worker' && argv[0] === 'python3') return say({ workers: ['synapse.app.generic_worker'] })
    if (id !== postgres.id || argv[0] !== 'psql') return { exitCode: 127, stdout: '', stderr: '' }
    if (sql === 'select 1;') return say('1')
    if (sql.includes('pg_stat_activity')) return say(answers.backends ?? [backend])
    if (sql.includes('pg_database_size')) return say({ ...databaseFacts, ...answers.database })
    return say(sql.includes('random()') ? { named: 0, sample: [] } : { ...chatRows, ...answers.rows })
  }
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-survey-'))
  const engine = { exec, hostContainers: async () => containers, volumesFolder: async () => folder } as unknown as ContainerEngine
  const disk = { freeBytes: async () => 1e12, usedBytes: async () => 0 } as unknown as SurveyDeps['disk']
  const box = { project: { name: 'linden', folder, composeFile: '' } } as LocalBox
  return surveyStack({ engine, disk, stateFolder: folder }, box, new AbortController().signal)
}

test('a stack without an object store, with names of its own and folders instead of volumes', async () => {
  const { evidence, stack } = await surveyOf()
  expect(evidence).toMatchObject({ objects: null, otherContainers: [], database: { name: 'chat', dataMount: 'named' } })
  expect(stack).toMatchObject({
    last: [{ name: 'linden-sql-1' }],
    stopped: [{ name: 'linden-matrix-1' }],
    media: [{ from: '/srv/chat/media_store', inside: '' }],
    objects: null,
  })
})

test('data in a sub folder of their mount are in that mount', async () => {
  const { evidence } = await surveyOf({ database: { dataFolder: '/var/lib/postgresql/data/pgdata' } })
  expect(isFound(evidence.database) && evidence.database.dataMount).toBe('named')
})

const shared: [string, Answers][] = [
  ['has a database of another program', { database: { otherDatabases: ['wiki'] } }],
  ['serves another program now', { backends: [backend, { database: 'wiki', user: 'wiki', address: '10.0.0.9', port: 1 }] }],
]
test.each(shared)('a server that %s is not stopped by an import', async (_, answers) => {
  const { stack } = await surveyOf(answers)
  expect(stack).toMatchObject({ last: [], stopped: [{ name: 'linden-matrix-1' }] })
})

test('workers in containers of their own stop with the chat server: they would answer from the former database', async () => {
  const [worker, redis] = [aContainer('worker', '10.0.0.4'), aContainer('redis', '10.0.0.5')]
  const backends = [backend, { ...backend, address: '10.0.0.4', port: 40_001 }]
  const { evidence, stack } = await surveyOf({ backends }, [chat, postgres, worker, redis])
  expect(evidence).toMatchObject({
    chat: { workers: ['linden-worker-1'] },
    database: { otherClients: [] },
    otherContainers: ['linden-redis-1'],
  })
  expect(stack).toMatchObject({ last: [{ name: 'linden-sql-1' }], stopped: [{ name: 'linden-worker-1' }, { name: 'linden-matrix-1' }] })
})

test('media of a worker in a folder of its own are refused: they would be left behind', async () => {
  const mounted = (source: string) => aContainer('worker', '10.0.0.4', { mounts: [{ source, target: '/data' }] })
  const { evidence } = await surveyOf({}, [chat, postgres, mounted('/srv/other')])
  expect(evidence.media).toMatchObject({ failure: expect.stringMatching(/^linden-worker-1 has another folder at .* fix: /) })
  expect((await surveyOf({}, [chat, postgres, mounted('/srv/chat')])).evidence.media).not.toHaveProperty('failure')
})

test('a role that may not read all is found before the chat is asked for its rows', async () => {
  const { evidence } = await surveyOf({ database: { unreadable: ['events'] }, rows: { rows: 'permission denied' } })
  expect(evidence.database).toMatchObject({ unreadable: ['events'], rows: { events: 0 } })
})

test('its files are in the folder of the host that the server names', async () => {
  const filesOf = async (database: object) => (await surveyOf({ database })).stack?.database.files
  const inside = { dataFolder: '/var/lib/postgresql/data/pgdata', systemId: '7000' }
  expect(await filesOf(inside)).toEqual({ folder: '/srv/db/pgdata', systemId: '7000' })
  expect(await filesOf({ ...inside, dataFolder: '/pgdata' })).toBeUndefined()
  expect(await filesOf({ ...inside, systemId: null })).toBeUndefined()
})

test('extensions stay behind, and the dump leaves them out', async () => {
  expect((await surveyOf({ database: { extensions: ['pg_trgm'] } })).stack?.database.hasExtensions).toBe(true)
  expect((await surveyOf()).stack?.database.hasExtensions).toBe(false)
})

test('media behind symbolic links are refused before anything stops', async () => {
  const { evidence } = await surveyOf({ media: { links: ['/data/media_store/local_content'] } })
  expect(evidence.media).toMatchObject({ failure: expect.stringContaining('/data/media_store/local_content. fix:') })
})
