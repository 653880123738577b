import { z } from 'zod'
import { type DatabaseEvidence, HotCopyFacts } from '../../core/boxes/index.ts'
import { asJson, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, HostContainer } from '../ports/index.ts'
import { execIfRunning, type RunningChat } from './chat-evidence.ts'
import { activitySql, chatSql, databaseSql } from './database-sql.ts'

const Names = z.array(z.string()).max(200)

const Activity = z.array(
  z.object({ database: z.string(), user: z.string().nullable(), address: z.string().nullable(), port: z.number().nullable() }),
)
type Backend = z.infer<typeof Activity>[number]

const Database = z.object({
  ...{ bytes: z.number(), version: z.string(), encoding: z.string(), dataFolder: z.string().nullable() },
  ...{ missingTables: Names, otherSchemas: Names, unreadable: Names, extensions: Names, extensionUses: Names },
  otherDatabases: Names,
  ...{ hotCopy: HotCopyFacts.nullable().default(null), locale: z.string().nullable().default(null), ownObjects: Names.default([]) },
  systemId: z.string().nullable().default(null),
})
const Count = z.number().int().min(0)
const Chat = z.object({
  schemaVersion: z.number().int().nullable(),
  compatVersion: z.number().int().nullable(),
  backgroundUpdates: z.array(z.string()),
  rows: z.object({ users: Count, rooms: Count, events: Count, devices: Count, media: Count }),
  remoteMembers: Count,
  accountDomains: Names,
  appservices: Names,
})

/** A PostgreSQL that answers to a role of its own container. */
export type Server = Readonly<{
  engine: ContainerEngine
  container: HostContainer
  port: number
  role: string
  /** A database that lets the role in. */
  home: string
  isLocal: boolean
  signal: AbortSignal
}>

/** Output of SQL in a database. Throws BOX_UNHEALTHY. */
export async function queryServer(server: Server, database: string, sql: string): Promise<string> {
  const { engine, container, port, role, isLocal, signal } = server
  const options = ['-X', '-q', '-A', '-t', '-w', '-v', 'ON_ERROR_STOP=1', '-p', String(port), '-U', role, '-d', database]
  const { exitCode, stdout, stderr } = await engine.exec(container.id, ['psql', ...options, ...(isLocal ? [] : ['-h', '127.0.0.1'])], {
    stdin: sql,
    signal,
  })
  if (exitCode === 0) return stdout.trim()
  const last = stderr.trim().split('\n').at(-1) ?? ''
  throw problem('BOX_UNHEALTHY', `psql in ${container.name} failed with exit code ${exitCode}: ${last.slice(0, 300)}`)
}

async function queryJson<Schema extends z.ZodType>(server: Server, schema: Schema, query: Readonly<{ database: string; sql: string }>) {
  const result = schema.safeParse(asJson(await queryServer(server, query.database, query.sql)))
  if (result.success) return result.data
  throw problem('BOX_UNHEALTHY', `Database ${query.database} in ${server.container.name} answered in an unexpected way`, {
    cause: result.error,
  })
}

type Survey = Readonly<{ engine: ContainerEngine; containers: readonly HostContainer[]; signal: AbortSignal }>
type Found = Readonly<{ server: Server; database: string; user: string; connections: number; backends: readonly Backend[] }>

/** The database that the chat server is connected to, by the connections of both sides. Throws BOX_UNHEALTHY. */
export async function findDatabase(survey: Survey, chat: RunningChat): Promise<Found> {
  const candidates = candidatesOf(survey.containers, chat)
  const found: Found[] = []
  for (const { container, ports } of candidates)
    for (const port of ports) {
      const server = await openServer(survey, { container, port, chat })
      if (server) found.push(...(await backendsOf(server, chat)))
    }
  const [first, ...others] = found
  if (!first) throw problem('BOX_UNHEALTHY', notFound(chat, candidates.length))
  if (others.length > 0) {
    const names = found.map(({ server, database }) => `${database} in ${server.container.name}`)
    throw problem('BOX_UNHEALTHY', `The chat server is connected to more than one database: ${names.join(', ')}`)
  }
  return first
}

function notFound({ database, connections }: RunningChat, candidates: number): string {
  const host = database.host ?? 'a local socket'
  if (candidates > 0)
    return `No PostgreSQL on this host has a connection of the chat server. fix: see that the chat server reaches its database (${host})`
  const remote = [...new Set(connections.map(({ toAddress, toPort }) => `${toAddress}:${toPort}`))].slice(0, 5)
  return `The database of the chat server (${host}) is in no container of this host; it is connected to ${remote.join(', ') || 'nothing'}. fix: move the database into a container of this host first`
}

type Candidate = Readonly<{ container: HostContainer; ports: readonly number[] }>

/** Containers at the other end of its connections; for a socket those that share its folder. */
function candidatesOf(containers: readonly HostContainer[], { container: chat, connections, database }: RunningChat): Candidate[] {
  const socket = database.host?.startsWith('/') ? socketSource(chat, database.host) : undefined
  return containers.flatMap((container) => {
    const ports = new Set(connections.filter(({ toAddress }) => container.addresses.includes(toAddress)).map(({ toPort }) => toPort))
    if (socket !== undefined && container.id !== chat.id && container.mounts.some(({ source }) => source === socket)) ports.add(defaultPort)
    return ports.size === 0 ? [] : [{ container, ports: [...ports] }]
  })
}

const defaultPort = 5432

/** Images link one to the other. */
const plainRun = (path: string): string => path.replace(/^\/var\/run(?=\/|$)/, '/run')

/** The folder of the host that holds the folder of a socket. */
const socketSource = ({ mounts }: HostContainer, folder: string): string | undefined =>
  sourceOf(
    mounts.map(({ source, target }) => ({ source, target: plainRun(target) })),
    plainRun(folder),
  )

const sourceOf = (mounts: HostContainer['mounts'], path: string): string | undefined =>
  mounts.filter(({ target }) => path === target || path.startsWith(`${target}/`)).toSorted((a, b) => b.target.length - a.target.length)[0]
    ?.source

/** Undefined where no PostgreSQL answers. */
async function openServer(
  { engine, signal }: Survey,
  { container, port, chat }: Readonly<{ container: HostContainer; port: number; chat: RunningChat }>,
): Promise<Server | undefined> {
  const { exitCode, stdout } = await execIfRunning(engine, container.id, ['printenv', 'POSTGRES_USER'], { signal })
  const roles = new Set([...(exitCode === 0 ? [stdout.trim()] : []), 'postgres', ...(chat.database.user ? [chat.database.user] : [])])
  const databases = ['postgres', chat.database.dbname ?? chat.database.database ?? 'synapse']
  for (const role of roles)
    for (const isLocal of [true, false])
      for (const database of databases) {
        const server = { engine, container, port, role, home: database, isLocal, signal }
        const answers = await queryServer(server, database, 'select 1;').catch(() => undefined)
        if (answers === '1') return server
      }
  return undefined
}

async function backendsOf(server: Server, chat: RunningChat): Promise<Found[]> {
  const backends = await queryJson(server, Activity, { database: server.home, sql: activitySql })
  const own = new Set(chat.connections.map(({ address, port }) => `${address} ${port}`))
  const { host, user: named, dbname, database: alias } = chat.database
  const isSocket = host?.startsWith('/') ?? false
  const ours = backends.filter(({ address, port, database, user }) =>
    address === null ? isSocket && user === named && database === (dbname ?? alias) : own.has(`${address} ${port}`),
  )
  const databases = [...new Set(ours.map(({ database, user }) => JSON.stringify([database, user ?? ''])))]
  return databases.map((key) => {
    const [database, user] = JSON.parse(key) as [string, string]
    return { server, database, user, backends, connections: ours.filter((one) => one.database === database && one.user === user).length }
  })
}

/** Addresses of the containers of the chat server and its workers. */
export const addressesOf = ({ container, workers }: RunningChat): string[] => [container, ...workers].flatMap(({ addresses }) => addresses)

type Named = Readonly<{ chat: RunningChat; serverName: string }>

export async function databaseEvidence({ containers }: Survey, found: Found, { chat, serverName }: Named): Promise<DatabaseEvidence> {
  const { server, database, user, backends, connections } = found
  const facts = await queryJson(server, Database, { database, sql: databaseSql })
  const canRead = facts.missingTables.length === 0 && facts.unreadable.length === 0
  const rows = canRead ? await queryJson(server, Chat, { database, sql: chatSql(serverName) }) : nothing
  const ownAddresses = addressesOf(chat)
  const isOther = ({ address, ...backend }: Backend) => backend.database === database && address !== null && !ownAddresses.includes(address)
  const nameOf = (address: string) => containers.find(({ addresses }) => addresses.includes(address))?.name ?? address
  return {
    ...{ container: server.container.name, image: server.container.image, name: database, user, superuser: server.role, connections },
    otherClients: [...new Set(backends.filter(isOther).map(({ address }) => nameOf(address as string)))],
    ...facts,
    dataMount: mountKind(server.container, facts.dataFolder),
    ...rows,
  }
}

/** Docker names a volume without a name by 64 hexadecimal digits. */
function mountKind({ mounts }: HostContainer, folder: string | null): DatabaseEvidence['dataMount'] {
  const source = folder === null ? undefined : sourceOf(mounts, folder)
  if (source === undefined) return 'none'
  return /\/volumes\/[0-9a-f]{64}\/_data$/.test(source) ? 'anonymous' : 'named'
}

const nothing: z.infer<typeof Chat> = {
  ...{ schemaVersion: null, compatVersion: null, backgroundUpdates: [], remoteMembers: 0, accountDomains: [], appservices: [] },
  rows: { users: 0, rooms: 0, events: 0, devices: 0, media: 0 },
}
