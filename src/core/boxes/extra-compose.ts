import { Service } from './names.ts'
import { isRecord } from './plain-data.ts'

// The additions of an operator to a box, in a compose file of their own that compose merges. The images, volumes and networks of the four services
// stay those of the box template: updates, snapshots and restores rely on them.

/** Beside compose.yaml in the folder of the box. */
export const extraFileName = 'compose.extra.yaml'

/** Limits and labels of any service. */
const anywhere = [
  ...['labels', 'deploy', 'cpus', 'cpu_shares', 'cpu_quota', 'cpu_period', 'cpuset', 'mem_limit', 'mem_reservation'],
  ...['memswap_limit', 'pids_limit', 'ulimits', 'blkio_config', 'oom_score_adj', 'logging'],
]
const more: Readonly<Partial<Record<Service, readonly string[]>>> = { edge: ['networks'], postgres: ['command', 'shm_size'] }

const topLevel = ['services', 'networks', 'volumes', 'configs', 'secrets']
/** Volumes of the box template. */
const ownVolumes = ['postgres', 'media', 'objects']

/** Why a box may not have this extra file, parsed; one sentence each with its fix. */
export function extraFindings(extra: unknown): string[] {
  if (extra === null || extra === undefined) return []
  if (!isRecord(extra)) return [`${extraFileName} is not a map. fix: begin it with services:`]
  const services = isRecord(extra.services) ? extra.services : {}
  return [
    ...Object.keys(extra)
      .filter((key) => !topLevel.includes(key) && !key.startsWith('x-'))
      .map((key) => `${extraFileName}: ${key} is not allowed. fix: remove it`),
    ...Object.keys(isRecord(extra.volumes) ? extra.volumes : {})
      .filter((key) => ownVolumes.includes(key))
      .map((key) => `${extraFileName}: the volume ${key} belongs to the box. fix: use another name`),
    ...Object.keys(isRecord(extra.networks) ? extra.networks : {})
      .filter((key) => key === 'default')
      .map(() => `${extraFileName}: the network default belongs to the box. fix: use another name`),
    ...Object.entries(services).flatMap(([name, service]) => serviceFindings(name, isRecord(service) ? service : {})),
  ]
}

function serviceFindings(name: string, service: Record<string, unknown>): string[] {
  const own = Service.safeParse(name).data
  if (own === undefined)
    return volumesOf(service)
      .filter(isOwn)
      .map((source) => `${extraFileName}: ${name} mounts ${source} of the box. fix: remove it`)
  const allowed = [...anywhere, ...(more[own] ?? [])]
  return [
    ...Object.keys(service)
      .filter((key) => !allowed.includes(key))
      .map((key) => `${extraFileName}: ${key} of ${name} belongs to the box template. fix: remove it; allowed are ${allowed.join(', ')}`),
    ...deployFindings(name, service.deploy),
    ...(own === 'edge' && service.networks !== undefined ? networkFindings(service.networks) : []),
    ...(own === 'postgres' && service.command !== undefined ? commandFindings(service.command) : []),
  ]
}

const isOwn = (source: string): boolean => ownVolumes.includes(source)

const volumesOf = ({ volumes }: Record<string, unknown>): string[] =>
  (Array.isArray(volumes) ? volumes : []).flatMap((mount) => {
    const source = typeof mount === 'string' ? mount.split(':')[0] : isRecord(mount) ? mount.source : undefined
    return typeof source === 'string' ? [source] : []
  })

/** Replicas would start a second server on the same data. */
const deployFindings = (name: string, deploy: unknown): string[] =>
  Object.keys(isRecord(deploy) ? deploy : {})
    .filter((key) => key !== 'resources' && key !== 'labels')
    .map((key) => `${extraFileName}: deploy.${key} of ${name} is not allowed. fix: keep only deploy.resources and deploy.labels`)

/** Compose replaces the implicit network of a service by those that are listed. */
function networkFindings(networks: unknown): string[] {
  const names = Array.isArray(networks) ? networks.map(String) : isRecord(networks) ? Object.keys(networks) : []
  return names.includes('default') ? [] : [`${extraFileName}: the edge must stay in the network default. fix: add default to its networks`]
}

/** Settings that say where the data and connections are, or that lose data at a crash. */
const fixedSettings = [
  ...['data_directory', 'config_file', 'hba_file', 'ident_file', 'external_pid_file', 'listen_addresses', 'port'],
  ...['unix_socket_directories', 'fsync', 'full_page_writes', 'wal_level'],
]

/** `postgres -c name=value …`, as a list or as one line. */
function commandFindings(command: unknown): string[] {
  const words = Array.isArray(command) ? command.map(String) : String(command).trim().split(/\s+/)
  const [program, ...options] = words
  const settings = options.filter((_, at) => at % 2 === 1).map((option) => option.split('=')[0]?.trim().replaceAll('-', '_') ?? '')
  const isPlain = options.length % 2 === 0 && options.every((option, at) => (at % 2 === 0 ? option === '-c' : option.includes('=')))
  if (program !== 'postgres' || !isPlain)
    return [`${extraFileName}: the command of postgres must be postgres -c name=value …. fix: write it so`]
  return settings
    .filter((name) => fixedSettings.includes(name.toLowerCase()))
    .map((name) => `${extraFileName}: the setting ${name} of postgres belongs to the box template. fix: remove it`)
}

/** Services of the file beside the four. */
export const extraServices = (extra: unknown): string[] =>
  Object.keys(isRecord(extra) && isRecord(extra.services) ? extra.services : {}).filter((name) => !Service.safeParse(name).success)

export const extraNetworksOfEdge = (extra: unknown): boolean =>
  isRecord(extra) && isRecord(extra.services) && isRecord(extra.services.edge) && extra.services.edge.networks !== undefined
