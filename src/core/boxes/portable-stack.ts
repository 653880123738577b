import { Service } from './names.ts'
import { isRecord, shown } from './plain-data.ts'
import { type PortableHomeserver, portableHomeserver } from './portable-homeserver.ts'

// The part of a box's own files that it takes to another host, where everything is rendered from that host's box template. The files come from
// a host that may be compromised: nothing of them applies unless it is listed here.

/** A mount of a service. `source` is a volume key of the file or a path; empty for an anonymous volume. */
type StackMount = Readonly<{ kind: 'volume' | 'bind' | 'other'; source: string; target: string }>
export type StackMounts = Readonly<Partial<Record<Service, readonly StackMount[]>>>

type Files = Readonly<{
  /** The parsed compose file. */
  compose: unknown
  mounts: StackMounts
  /** The parsed homeserver.yaml. */
  homeserver: unknown
}>

export type PortableStack = Readonly<{
  chat: PortableHomeserver
  /** Resource limits of services, set over the box template. */
  limits: Readonly<Partial<Record<Service, Readonly<Record<string, unknown>>>>>
  /** Keys of the volumes with media and objects; undefined where the stack has no such volume. */
  data: Readonly<{ synapse: string | undefined; minio: string | undefined }>
  /** Settings that cannot be carried over, each with its key and a fix. */
  findings: readonly string[]
  /** Reasons why the data itself does not fit the box template, each with a fix. */
  dataFindings: readonly string[]
}>

export function portableStack({ compose, mounts, homeserver }: Files): PortableStack {
  const whole = isRecord(compose) ? compose : {}
  const services = isRecord(whole.services) ? whole.services : {}
  const own = Service.options.map((name) => [name, isRecord(services[name]) ? services[name] : {}] as const)
  const chat = portableHomeserver(homeserver)
  const data = dataOf(services, mounts, homeserver)
  return {
    chat,
    limits: Object.fromEntries(own.map(([name, service]) => [name, limitsOf(service)])),
    data: { synapse: data.synapse.key, minio: data.minio.key },
    findings: [
      ...topFindings(whole, services),
      ...own.flatMap(([name, service]) => serviceFindings(name, service, mounts[name] ?? [])),
      ...chat.findings,
    ],
    dataFindings: [...data.synapse.findings, ...data.minio.findings],
  }
}

/** Path of homeserver.yaml in the box's folder; undefined where it is in no bound folder of it. */
export function chatConfigPath(compose: unknown, { synapse = [] }: StackMounts): string | undefined {
  const path = configPath(variables(serviceOf(compose, 'synapse').environment))
  const mount = synapse
    .filter(({ target }) => path.startsWith(`${target}/`))
    .reduce<StackMount | undefined>((best, one) => (best && best.target.length >= one.target.length ? best : one), undefined)
  if (mount?.kind !== 'bind') return undefined
  const inFolder = `${mount.source.replace(/^\.\/+/, '').replace(/\/+$/, '')}/${path.slice(mount.target.length + 1)}`
  return /^[\w-][\w. -]*(\/[\w-][\w. -]*)+$/.test(inFolder) ? inFolder : undefined
}

const configPath = ({ SYNAPSE_CONFIG_PATH: path, SYNAPSE_CONFIG_DIR: folder = '/data' }: Readonly<Record<string, string>>): string =>
  path || `${folder}/homeserver.yaml`

function serviceOf(compose: unknown, name: Service): Record<string, unknown> {
  const services = isRecord(compose) ? compose.services : undefined
  const service = isRecord(services) ? services[name] : undefined
  return isRecord(service) ? service : {}
}

const refusal = (path: string, fix: string): string => `compose: ${shown(path)} cannot be carried over: ${fix}`
const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === false

const topKeys = ['name', 'version', 'services', 'volumes', 'networks']
const volumeKeys = ['name', 'labels']
const networkKeys = ['name', 'labels']

function topFindings(whole: Record<string, unknown>, services: Record<string, unknown>): string[] {
  const other = Object.keys(services).filter((name) => !Service.safeParse(name).success)
  const missing = Service.options.filter((name) => !isRecord(services[name]))
  return [
    ...Object.keys(whole).flatMap((key) =>
      topKeys.includes(key) || key.startsWith('x-') || isAbsent(whole[key]) ? [] : [refusal(key, 'remove it')],
    ),
    ...missing.map((name) => `compose: the service ${name} is missing: add it`),
    ...other.map((name) => refusal(`services.${name}`, 'move the service to a project of its own')),
    ...keyFindings('volumes', whole.volumes, volumeKeys),
    ...keyFindings('networks', whole.networks, networkKeys),
  ]
}

const keyFindings = (at: string, entries: unknown, known: readonly string[]): string[] =>
  Object.entries(isRecord(entries) ? entries : {}).flatMap(([name, entry]) =>
    Object.entries(isRecord(entry) ? entry : {}).flatMap(([key, value]) =>
      known.includes(key) || isAbsent(value) ? [] : [refusal(`${at}.${name}.${key}`, 'remove it')],
    ),
  )

/** Keys that the box template sets in its own way, or that have no meaning on another host. */
const rendered = [
  ...['image', 'restart', 'labels', 'logging', 'healthcheck', 'depends_on', 'expose', 'container_name', 'hostname'],
  ...['networks', 'stop_signal', 'pull_policy', 'init'],
]

const variableNames: Readonly<Record<Service, readonly string[]>> = {
  edge: [],
  synapse: ['SYNAPSE_CONFIG_PATH', 'SYNAPSE_CONFIG_DIR', 'SYNAPSE_DATA_DIR', 'SYNAPSE_SERVER_NAME', 'SYNAPSE_REPORT_STATS'],
  postgres: [
    ...['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD', 'POSTGRES_PASSWORD_FILE', 'POSTGRES_INITDB_ARGS'],
    ...['POSTGRES_HOST_AUTH_METHOD', 'PGDATA', 'TENANTRY_DATABASE'],
  ],
  minio: ['MINIO_ROOT_USER', 'MINIO_ROOT_USER_FILE', 'MINIO_ROOT_PASSWORD', 'MINIO_ROOT_PASSWORD_FILE', 'MINIO_BROWSER'],
}
const harmlessVariables = ['TZ', 'LANG']

function serviceFindings(name: Service, service: Record<string, unknown>, mounts: readonly StackMount[]): string[] {
  const at = (key: string) => `services.${name}.${key}`
  const words = { entrypoint: wordsOf(service.entrypoint), command: wordsOf(service.command) }
  return Object.entries(service).flatMap(([key, value]) => {
    if (isAbsent(value) || rendered.includes(key) || key.startsWith('x-')) return []
    if (Object.hasOwn(limits, key)) return limits[key]?.(value) ? [] : [refusal(at(key), 'write a plain size, number or duration')]
    if (key === 'environment') return variableFindings(name, value)
    if (key === 'volumes') return mountFindings(name, service, mounts)
    if (key === 'ports' && (name === 'edge' || (Array.isArray(value) && value.length === 0))) return []
    if (key === 'entrypoint' && name === 'synapse' && chatEntrypoint.test(words.entrypoint.join(' '))) return []
    if (key === 'command' && commands[name].test(words.command.join(' '))) return []
    return [refusal(at(key), 'remove it')]
  })
}

const chatEntrypoint = /^\/bin\/sh -c chown (-R )?991:991 \/\S+ && exec \/start\.py$/

const commands: Readonly<Record<Service, RegExp>> = {
  edge: /^$/,
  synapse: /^(run)?$/,
  postgres: /^(postgres)?$/,
  minio: /^server \/[\w./-]+( --console-address \S+)?$/,
}

const wordsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [])

function variableFindings(name: Service, environment: unknown): string[] {
  const { UID, GID, ...others } = variables(environment)
  const user = name === 'synapse' ? [UID, GID].filter((id) => id !== undefined && id !== '991') : []
  return [
    ...user.map(() => refusal('services.synapse.environment.UID', 'let Synapse run as user 991 and own its media')),
    ...Object.keys(others)
      .filter((variable) => !variableNames[name].includes(variable) && !harmlessVariables.includes(variable))
      .map((variable) => refusal(`services.${name}.environment.${variable}`, 'remove it')),
  ]
}

/** Variables of a service, from the list and the map form. */
function variables(environment: unknown): Record<string, string> {
  const listed = Array.isArray(environment) ? environment.map(String) : []
  const entries = listed.map((entry) => [entry.split('=')[0] ?? '', entry.slice(entry.indexOf('=') + 1)] as const)
  const named = isRecord(environment) ? Object.entries(environment).map(([key, value]) => [key, String(value ?? '')] as const) : []
  return Object.fromEntries([...entries, ...named])
}

/** Bound folders whose content is rendered on the new host, by their target; clocks of the host are harmless. */
const boundTargets: Readonly<Record<Service, readonly string[]>> = {
  edge: ['/etc/nginx/conf.d', '/etc/nginx/fence'],
  synapse: [],
  postgres: ['/run/secrets/postgres', '/docker-entrypoint-initdb.d'],
  minio: ['/run/secrets/minio'],
}
const clocks = ['/etc/localtime', '/etc/timezone']

function mountFindings(name: Service, service: Record<string, unknown>, mounts: readonly StackMount[]): string[] {
  const config = name === 'synapse' ? configPath(variables(service.environment)) : undefined
  return mounts.flatMap(({ kind, target }) => {
    if (kind === 'volume') return []
    if (kind === 'bind' && (boundTargets[name].includes(target) || clocks.includes(target))) return []
    if (kind === 'bind' && config?.startsWith(`${target}/`)) return []
    return [refusal(`services.${name}.volumes at ${target}`, 'remove the mount')]
  })
}

type Data = Readonly<{ key: string | undefined; findings: readonly string[] }>

/** The volumes that hold media and objects: each alone in a volume of its own, because the new host mounts it as such. */
function dataOf(services: Record<string, unknown>, mounts: StackMounts, homeserver: unknown): Readonly<{ synapse: Data; minio: Data }> {
  const path = isRecord(homeserver) && typeof homeserver.media_store_path === 'string' ? homeserver.media_store_path : 'media_store'
  const minio = isRecord(services.minio) ? wordsOf(services.minio.command).join(' ').split(' ')[1] : undefined
  return {
    synapse: dataAt('synapse', {
      what: 'media',
      mounts: mounts.synapse ?? [],
      path: (path.startsWith('/') ? path : `/data/${path}`).replace(/(?<=.)\/+$/, ''),
    }),
    minio: dataAt('minio', { what: 'objects', mounts: mounts.minio ?? [], path: minio ?? '/data' }),
  }
}

function dataAt(name: Service, { what, mounts, path }: Readonly<{ what: string; mounts: readonly StackMount[]; path: string }>): Data {
  const volumes = mounts.filter(({ kind }) => kind === 'volume')
  const key = volumes.find(({ source, target }) => source !== '' && target === path)?.source
  const others = volumes.filter(({ target }) => target !== path)
  return {
    key,
    findings: [
      ...(key === undefined ? [`compose: ${name} has no named volume for its ${what}: mount a named volume at ${shown(path)}`] : []),
      ...others.map(({ target }) => refusal(`services.${name}.volumes at ${target}`, `keep only the volume of its ${what}`)),
    ],
  }
}

const size = (value: unknown): boolean => /^[0-9]{1,15}(\.[0-9]{1,3})?([bkmg]b?)?$/i.test(String(value))
const count = (value: unknown): boolean => /^[0-9]{1,9}(\.[0-9]{1,3})?$/.test(String(value))
const duration = (value: unknown): boolean => /^([0-9]{1,6}(ms|s|m|h)){1,4}$/.test(String(value))

/** Keys that only limit a container, with the form that their value must have. */
const limits: Readonly<Record<string, (value: unknown) => boolean>> = {
  mem_limit: size,
  mem_reservation: size,
  memswap_limit: size,
  shm_size: size,
  cpus: count,
  cpu_shares: count,
  pids_limit: count,
  stop_grace_period: duration,
  deploy: (value) => isRecord(value) && Object.keys(value).every((key) => key === 'resources') && isResources(value.resources),
}

const isResources = (value: unknown): boolean =>
  isRecord(value) &&
  Object.entries(value).every(([kind, amounts]) => ['limits', 'reservations'].includes(kind) && isRecord(amounts) && areAmounts(amounts))

const amounts: Readonly<Record<string, (value: unknown) => boolean>> = { cpus: count, memory: size, pids: count }
const areAmounts = (input: Record<string, unknown>): boolean =>
  Object.entries(input).every(([key, value]) => Object.hasOwn(amounts, key) && amounts[key]?.(value) === true)

const limitsOf = (service: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(service).filter(([key, value]) => Object.hasOwn(limits, key) && limits[key]?.(value)))
