import { expect, test } from 'vitest'
import type { RunningChat } from '../../../src/agent/import/chat-evidence.ts'
import { databaseEvidence, findDatabase } from '../../../src/agent/import/database-evidence.ts'
import type { ContainerEngine, HostContainer } from '../../../src/agent/ports/index.ts'
import { aChat } from '../../core/boxes/import-evidence.ts'

// The database is the one whose backends are the other ends of the chat server's own connections.

type Backend = Readonly<{ database: string; user: string; address: string | null; port: number }>

const aContainer = (name: string, address: string, change: Partial<HostContainer> = {}): HostContainer => ({
  ...{ id: `id-${name}`, name, project: 'linden', service: name, image: `${name}:1`, command: [], addresses: [address], mounts: [] },
  ...{ published: [], alwaysRestarts: false },
  ...change,
})

const chatContainer = aContainer('synapse', '10.0.0.2', { mounts: [{ source: '/srv/run', target: '/run/postgresql' }] })
const connected = (toAddress: string, port = 40_000) => ({ address: '10.0.0.2', port, toAddress, toPort: 5432 })
const aRunningChat = (change: Partial<RunningChat>): RunningChat => ({
  ...{ container: chatContainer, workers: [], evidence: aChat(), mediaPath: '/media', connections: [connected('10.0.0.3')] },
  database: { host: 'postgres', user: 'chat', dbname: 'chat' },
  ...change,
})
const backend = (change: Partial<Backend> = {}): Backend => ({
  ...{ database: 'chat', user: 'chat', address: '10.0.0.2', port: 40_000 },
  ...change,
})

/** PostgreSQL in the named containers, which lets in one role. */
function hostWith(servers: Readonly<Record<string, readonly Backend[]>>, { role = 'postgres', tcpOnly = false } = {}) {
  const exec: ContainerEngine['exec'] = async (id, argv, options) => {
    const answer = (stdout: string, exitCode = 0) => ({ exitCode, stdout, stderr: exitCode === 0 ? '' : 'no' })
    const backends = servers[id.slice('id-'.length)]
    if (argv[0] === 'printenv') return answer('', 1)
    if (!backends) return answer('', 127)
    if (argv[argv.indexOf('-U') + 1] !== role || (tcpOnly && !argv.includes('-h'))) return answer('', 2)
    const sql = String(options?.stdin)
    if (sql === 'select 1;') return answer('1\n')
    return sql.includes('pg_stat_activity') ? answer(JSON.stringify(backends)) : answer(JSON.stringify(facts))
  }
  const addresses = ['10.0.0.3', '10.0.0.4']
  const containers = [chatContainer, ...Object.keys(servers).map((name, at) => aContainer(name, addresses[at] as string))]
  return { engine: { exec } as unknown as ContainerEngine, containers, signal: new AbortController().signal }
}

const facts = {
  ...{ bytes: 1, version: '16.4', encoding: 'UTF8', missingTables: ['events'], otherSchemas: [] },
  ...{ unreadable: [], extensions: ['pg_trgm'], extensionUses: [], otherDatabases: [], dataFolder: '/var/lib/postgresql/18/docker' },
}

test('the end of its connections decides, not the name in its settings', async () => {
  const survey = hostWith({ postgres: [backend({ port: 1 })], shared: [backend({ database: 'real', user: 'chat' })] })
  const chat = aRunningChat({ connections: [connected('10.0.0.4')] })
  const found = await findDatabase(survey, chat)
  expect(found).toMatchObject({
    database: 'real',
    user: 'chat',
    connections: 1,
    server: { container: { name: 'shared' }, role: 'postgres' },
  })
})

test('a connection of another program to the same server is not taken for its own', async () => {
  const survey = hostWith({ postgres: [backend({ database: 'wiki', user: 'wiki', port: 40_001 }), backend()] })
  expect(await findDatabase(survey, aRunningChat({}))).toMatchObject({ database: 'chat' })
})

test('roles and ways into the server are tried in turn', async () => {
  const survey = hostWith({ postgres: [backend()] }, { role: 'chat', tcpOnly: true })
  expect((await findDatabase(survey, aRunningChat({}))).server).toMatchObject({ role: 'chat', isLocal: false })
})

test('behind a socket it is the server that shares its folder, by database and user', async () => {
  const sockets = hostWith({
    other: [backend({ address: null })],
    postgres: [backend({ address: null, database: 'x' }), backend({ address: null })],
  })
  const containers = sockets.containers.map((one) =>
    one.name === 'postgres' ? { ...one, mounts: [{ source: '/srv/run', target: '/var/run/postgresql' }] } : one,
  )
  const chat = aRunningChat({ connections: [], database: { host: '/var/run/postgresql', user: 'chat', dbname: 'chat' } })
  expect(await findDatabase({ ...sockets, containers }, chat)).toMatchObject({
    database: 'chat',
    server: { container: { name: 'postgres' } },
  })
})

test.each([
  ['is on another machine', {}, [connected('192.0.2.9')], /is in no container of this host; it is connected to 192\.0\.2\.9:5432\. fix: /],
  [
    'has no connection from it',
    { postgres: [] },
    [connected('10.0.0.3')],
    /No PostgreSQL on this host has a connection of the chat server\. fix: /,
  ],
  [
    'is not the only one',
    { postgres: [backend()], shared: [backend({ port: 40_001 })] },
    [connected('10.0.0.3'), connected('10.0.0.4', 40_001)],
    /connected to more than one database: chat in postgres, chat in shared/,
  ],
] as const)('a database that %s is an error', async (_, servers, connections, message) => {
  await expect(findDatabase(hostWith(servers), aRunningChat({ connections }))).rejects.toMatchObject({
    code: 'BOX_UNHEALTHY',
    message: expect.stringMatching(message),
  })
})

test('other programs in the database are named by their container, and missing tables end the reading', async () => {
  const survey = hostWith({ postgres: [backend(), backend({ address: '10.0.0.4' }), backend({ address: '10.0.0.9' })], worker: [] })
  const chat = aRunningChat({})
  const evidence = await databaseEvidence(survey, await findDatabase(survey, chat), { chat, serverName: 'linden.test' })
  expect(evidence).toMatchObject({ otherClients: ['worker', '10.0.0.9'], missingTables: ['events'], schemaVersion: null })
  expect(evidence).toMatchObject({ extensions: ['pg_trgm'], dataMount: 'none' })
})

test.each([
  ['a volume with a name', '/var/lib/docker/volumes/linden_db/_data', 'named'],
  ['a volume without a name', `/var/lib/docker/volumes/${'0a'.repeat(32)}/_data`, 'anonymous'],
  ['a folder', '/srv/db', 'named'],
])('the place of the data is found: %s', async (_, source, kind) => {
  const survey = hostWith({ postgres: [backend()] })
  const containers = survey.containers.map((one) =>
    one.name === 'postgres' ? { ...one, mounts: [{ source, target: '/var/lib/postgresql' }] } : one,
  )
  const chat = aRunningChat({})
  const here = { ...survey, containers }
  expect(await databaseEvidence(here, await findDatabase(here, chat), { chat, serverName: 'linden.test' })).toMatchObject({
    dataMount: kind,
  })
})
