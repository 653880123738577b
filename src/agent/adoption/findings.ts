import { dirname, posix } from 'node:path'
import { type Service, Service as Services } from '../../core/boxes/index.ts'
import { mountOf, recordOf, standingFindings } from '../boxes/index.ts'
import { edgePort, platformPort } from './complete-config.ts'
import { isPlainSecret } from './secrets.ts'
import type { Survey } from './survey.ts'

/** What no rewrite of files can mend; each says what to do. While there is one, the box stays observed. */
export function findingsOf(survey: Survey, chatDomain: string): string[] {
  const { edge: _, ...others } = survey.services
  return [
    ...standingFindings({ ...survey.whole, services: withoutClocks(others) }),
    ...absences(survey),
    ...neighbours(survey),
    ...edgeFindings(survey),
    ...databaseFindings(survey),
    ...storageFindings(survey),
    ...(survey.chat.file ? chatFindings(survey, chatDomain) : []),
  ]
}

const needed = ['synapse', 'postgres', 'minio'] as const

/** The host's own time may be mounted by anybody. */
const withoutClocks = (services: Record<string, Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(services).map(([name, service]) => {
      const { volumes } = service
      const left = Array.isArray(volumes)
        ? volumes.filter((mount) => !/^\/etc\/(localtime|timezone):[^:]*:ro$/.test(String(mount)))
        : volumes
      return [name, { ...service, volumes: left }]
    }),
  )

function absences({ services, containers, chat }: Survey): string[] {
  const missing = needed.filter((name) => !services[name])
  const still = needed.filter((name) => services[name] && !containers.some((one) => one.service === name && one.state === 'running'))
  return [
    ...missing.map((name) => `there is no service named ${name}: a box has its own ${kinds[name]}, as a service of its project`),
    ...still.map((name) => `${name} does not run: start the stack, then look again`),
    ...(services.synapse && !chat.file
      ? [`the chat server's config ${chat.containerPath} lies in no folder or volume that the service mounts: mount its folder`]
      : []),
  ]
}

const kinds: Readonly<Record<(typeof needed)[number], string>> = { synapse: 'chat server', postgres: 'PostgreSQL', minio: 'object store' }

/** A proxy or a worker in the same project would be a way past the fence. */
function neighbours({ services }: Survey): string[] {
  return Object.entries(services).flatMap(([name, { ports }]) =>
    !Services.safeParse(name).success && Array.isArray(ports) && ports.length > 0
      ? [`the service ${name} publishes ports: what reaches the chat server through it would pass the fence; move it out of the project`]
      : [],
  )
}

function edgeFindings({ services, box }: Survey): string[] {
  const ports = Array.isArray(services.edge?.ports) ? services.edge.ports : []
  const tls = ports.some((port) => /(^|:)443(\/tcp)?$/.test(String(recordOf(port).target ?? port)))
  return tls ? [`the edge of ${box.slug} serves TLS itself (port 443), which a box's edge does not: put a TLS proxy before the box`] : []
}

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

/** Role and database as the agent finds them, and as the chat server says. */
export function databaseNames({ chat, environment }: Pick<Survey, 'chat' | 'environment'>) {
  const { args, name } = recordOf(chat.plain.database)
  const { user, dbname, database, host } = recordOf(args)
  const { POSTGRES_USER, POSTGRES_DB, TENANTRY_DATABASE } = environment.postgres ?? {}
  const superuser = POSTGRES_USER || 'postgres'
  return {
    engine: text(name),
    host: text(host),
    said: { user: text(user), database: text(dbname ?? database) },
    found: TENANTRY_DATABASE
      ? { user: TENANTRY_DATABASE, database: TENANTRY_DATABASE }
      : { user: superuser, database: POSTGRES_DB || superuser },
  }
}

const hasOneName = ({ user, database }: Readonly<{ user: string; database: string }>): boolean => user === database

function databaseFindings(survey: Survey): string[] {
  const { chat, services, environment, mounts } = survey
  if (!chat.file || !services.postgres) return []
  const { engine, host, said, found } = databaseNames(survey)
  if (engine !== 'psycopg2') return [`the chat server keeps its data in ${engine || 'SQLite'} and not in PostgreSQL: move it over first`]
  const own = ['postgres', text(services.postgres.container_name), text(services.postgres.hostname)].filter(Boolean)
  const folder = environment.postgres?.PGDATA || '/var/lib/postgresql/data'
  const mount = mountOf(mounts.postgres ?? [], folder)
  return [
    ...(own.includes(host)
      ? []
      : [`the chat server's database is at ${host || 'no host'} and not the service postgres: a box has its own`]),
    ...(!hasOneName(said) && (said.user !== found.user || said.database !== found.database)
      ? [
          `the chat server's database is ${said.database} of the role ${said.user}; give both one name, or set POSTGRES_USER and POSTGRES_DB to them`,
        ]
      : []),
    ...(mount?.kind === 'volume' && mount.source !== ''
      ? []
      : [
          `postgres keeps its data in ${mount?.source || 'the container itself'}: it needs a named volume at ${folder}, so that a restore can be undone`,
        ]),
  ]
}

function storageFindings({ mounts, services, environment, chat }: Survey): string[] {
  const named = (service: Service) => (mounts[service as 'minio'] ?? []).some(({ kind, source }) => kind === 'volume' && source !== '')
  const media = posix.resolve('/data', text(chat.plain.media_store_path) || 'media_store')
  const mediaMount = mountOf(mounts.synapse ?? [], media)
  const { MINIO_ROOT_USER = 'minioadmin', MINIO_ROOT_PASSWORD = 'minioadmin' } = environment.minio ?? {}
  return [
    ...(services.minio && !named('minio') ? ['minio keeps its objects in a folder of the host: it needs a named volume'] : []),
    ...(services.minio && !(isPlainSecret(MINIO_ROOT_USER) && isPlainSecret(MINIO_ROOT_PASSWORD))
      ? ['the root account of minio has characters other than letters, digits and -_.+/=@: give it another password']
      : []),
    ...(chat.file && !(mediaMount?.kind === 'volume' && mediaMount.source !== '')
      ? [`the media of the chat server lie in ${mediaMount?.source || 'the container itself'}: they need a named volume at ${media}`]
      : []),
  ]
}

function chatFindings({ chat, mounts, box }: Survey, chatDomain: string): string[] {
  const { plain, containerPath } = chat
  const listeners = Array.isArray(plain.listeners) ? plain.listeners.map(recordOf) : []
  const on = (port: number) => listeners.filter((listener) => listener.port === port)
  const serves = (listener: Record<string, unknown>) =>
    JSON.stringify(listener.resources ?? []).includes('"client"') && listener.tls !== true
  const workers = ['instance_map', 'stream_writers'].filter((key) => plain[key] !== undefined)
  const reserved = [edgePort, platformPort].filter((port) => on(port).some((listener) => !serves(listener)))
  return [
    ...(text(plain.server_name) === chatDomain
      ? []
      : [`the chat server's name is ${text(plain.server_name) || 'not said'} and not ${chatDomain}: it can never be changed`]),
    ...(workers.length > 0 ? [`the chat server runs with workers (${workers.join(', ')}), which an update would not stop`] : []),
    ...(recordOf(plain.password_config).enabled === false
      ? ['password_config.enabled is false: the platform logs people in by password']
      : []),
    ...(recordOf(plain.matrix_authentication_service).enabled === true ||
    recordOf(recordOf(plain.experimental_features).msc3861).enabled === true
      ? ['logins are delegated to an authentication service, which the platform does not speak with']
      : []),
    ...(plain.registration_shared_secret_path !== undefined
      ? ['registration_shared_secret_path names a file: write the secret into homeserver.yaml as registration_shared_secret']
      : []),
    ...reserved.map((port) => `the listener on port ${port} of the chat server serves something else than clients: give it another port`),
    ...(mountOf(mounts.synapse ?? [], posix.dirname(containerPath))
      ? []
      : [`${containerPath} of ${box.slug} is mounted as a single file: mount its folder, ${dirname(containerPath)}`]),
  ]
}
