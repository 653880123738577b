import { dirname, posix } from 'node:path'
import { type Service, Service as Services } from '../../core/boxes/index.ts'
import { mountOf, ownerFindings, recordOf } from '../boxes/index.ts'
import { edgePort, platformPort } from './complete-config.ts'
import { isPlainSecret } from './secrets.ts'
import type { Survey } from './survey.ts'

/** Problems that a rewrite of files cannot fix, each with its fix. With any finding the box stays observed. */
export function findingsOf(survey: Survey, chatDomain: string): string[] {
  const { edge: _, ...others } = survey.services
  return [
    ...ownerFindings({ ...survey.whole, services: withoutClocks(others) }),
    ...absences(survey),
    ...neighbours(survey),
    ...edgeFindings(survey),
    ...databaseFindings(survey),
    ...storageFindings(survey),
    ...(survey.chat.file ? chatFindings(survey, chatDomain) : []),
  ]
}

const needed = ['synapse', 'postgres', 'minio'] as const

/** Mounts of the host's time zone files are harmless. */
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
    ...missing.map((name) => `service ${name} is missing. fix: add the ${kinds[name]} of the box as service ${name}`),
    ...still.map((name) => `${name} is not running. fix: start the stack, then show the diff again`),
    ...(services.synapse && !chat.file
      ? [`the config ${chat.containerPath} of synapse is in no mounted folder or volume. fix: mount its folder`]
      : []),
  ]
}

const kinds: Readonly<Record<(typeof needed)[number], string>> = { synapse: 'chat server', postgres: 'PostgreSQL', minio: 'object store' }

/** A proxy or worker in the same project would bypass the fence. */
function neighbours({ services }: Survey): string[] {
  return Object.entries(services).flatMap(([name, { ports }]) =>
    !Services.safeParse(name).success && Array.isArray(ports) && ports.length > 0
      ? [`service ${name} publishes ports, which could bypass the fence. fix: move it out of the project`]
      : [],
  )
}

function edgeFindings({ services, box }: Survey): string[] {
  const ports = Array.isArray(services.edge?.ports) ? services.edge.ports : []
  const tls = ports.some((port) => /(^|:)443(\/tcp)?$/.test(String(recordOf(port).target ?? port)))
  return tls ? [`the edge of ${box.slug} serves TLS on port 443, which is not supported. fix: put a TLS proxy in front of the box`] : []
}

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

/** Role and database from the container (`found`) and from the chat server's config (`said`). */
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
  if (engine !== 'psycopg2') return [`synapse uses ${engine || 'SQLite'}, not PostgreSQL. fix: migrate it to PostgreSQL first`]
  const own = ['postgres', text(services.postgres.container_name), text(services.postgres.hostname)].filter(Boolean)
  const folder = environment.postgres?.PGDATA || '/var/lib/postgresql/data'
  const mount = mountOf(mounts.postgres ?? [], folder)
  return [
    ...(own.includes(host)
      ? []
      : [`synapse uses the database host ${host || '(none)'}, not the service postgres. fix: move the database into the box`]),
    ...(!hasOneName(said) && (said.user !== found.user || said.database !== found.database)
      ? [
          `synapse uses database ${said.database} with role ${said.user}. fix: give both the same name, or set POSTGRES_USER and POSTGRES_DB to them`,
        ]
      : []),
    ...(mount?.kind === 'volume' && mount.source !== ''
      ? []
      : [
          `postgres stores its data in ${mount?.source || 'the container itself'}; a rollback needs a named volume. fix: mount one at ${folder}`,
        ]),
  ]
}

function storageFindings({ mounts, services, environment, chat }: Survey): string[] {
  const named = (service: Service) => (mounts[service as 'minio'] ?? []).some(({ kind, source }) => kind === 'volume' && source !== '')
  const media = posix.resolve('/data', text(chat.plain.media_store_path) || 'media_store')
  const mediaMount = mountOf(mounts.synapse ?? [], media)
  const { MINIO_ROOT_USER = 'minioadmin', MINIO_ROOT_PASSWORD = 'minioadmin' } = environment.minio ?? {}
  return [
    ...(services.minio && !named('minio') ? ['minio stores its objects in a host folder. fix: mount a named volume'] : []),
    ...(services.minio && !(isPlainSecret(MINIO_ROOT_USER) && isPlainSecret(MINIO_ROOT_PASSWORD))
      ? ['the root user or password of minio has characters other than letters, digits and -_.+/=@. fix: change it']
      : []),
    ...(chat.file && !(mediaMount?.kind === 'volume' && mediaMount.source !== '')
      ? [`synapse stores media in ${mediaMount?.source || 'the container itself'}. fix: mount a named volume at ${media}`]
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
      : [
          `server_name of synapse is ${text(plain.server_name) || 'missing'}, not ${chatDomain}, and cannot be changed. fix: adopt the box with its own server_name`,
        ]),
    ...(workers.length > 0
      ? [`synapse uses workers (${workers.join(', ')}), which an update would not stop. fix: run synapse without workers`]
      : []),
    ...(recordOf(plain.password_config).enabled === false
      ? ['password_config.enabled is false, but the platform needs password logins. fix: set it to true']
      : []),
    ...(recordOf(plain.matrix_authentication_service).enabled === true ||
    recordOf(recordOf(plain.experimental_features).msc3861).enabled === true
      ? ['logins are delegated to an authentication service, which is not supported. fix: let synapse handle logins']
      : []),
    ...(plain.registration_shared_secret_path !== undefined
      ? ['registration_shared_secret_path is set. fix: write the secret into homeserver.yaml as registration_shared_secret']
      : []),
    ...reserved.map((port) => `the listener of synapse on port ${port} does not serve clients. fix: give it another port`),
    ...(mountOf(mounts.synapse ?? [], posix.dirname(containerPath))
      ? []
      : [`${containerPath} of ${box.slug} is mounted as a single file. fix: mount its folder ${dirname(containerPath)}`]),
  ]
}
