import type { Service } from '../../core/boxes/index.ts'
import { canonicalJson, problem } from '../../core/kit/index.ts'
import { recordOf } from '../boxes/index.ts'
import { appendValue, ownMap, removeList, setValue, valuesOf, type YamlText } from './yaml-text.ts'

const same = (a: unknown, b: unknown): boolean => canonicalJson(a ?? null) === canonicalJson(b ?? null)

/** Sets a value that differs. */
const set = (file: YamlText, path: readonly (string | number)[], value: unknown): YamlText =>
  same(
    path.reduce<unknown>((at, key) => (at as Record<string | number, unknown> | undefined)?.[key], valuesOf(file)),
    value,
  )
    ? file
    : setValue(file, path, value)

type ComposeWants = Readonly<{
  /** The edge service of the box template. */
  edge: Record<string, unknown>
  /** Literal images for services that have none. */
  images: Readonly<Partial<Record<Service, string>>>
  /** Value of TENANTRY_DATABASE, set when the container's variables name another role or database. */
  databaseName?: string
}>

const composeFileName = 'the compose file'
const patientStop = '2m'
const minGraceMs = 60_000

/** Adds settings that safe updates need (config/box-template); all other bytes stay. Throws COMPOSE_INVALID where the file cannot be edited. */
export function completeCompose(text: string, wants: ComposeWants): string {
  const services = ['synapse', 'postgres', 'minio'] as const
  for (const service of services) ownMap({ name: composeFileName, text }, ['services', service])
  const completed = services.reduce<YamlText>((file, service) => completeService(file, service, wants), {
    name: composeFileName,
    text,
  })
  return set(completed, ['services', 'edge'], wants.edge).text
}

function completeService(file: YamlText, service: Exclude<Service, 'edge'>, wants: ComposeWants): YamlText {
  const now = recordOf(recordOf(valuesOf(file).services)[service])
  const image = wants.images[service]
  const { ports, stop_grace_period: grace } = now
  const settings: Record<string, unknown> = {
    ...(image === undefined ? {} : { image }),
    // With `always` an engine restart during an update would start a stopped container.
    restart: 'unless-stopped',
    ...(service === 'postgres' ? { stop_signal: 'SIGINT' } : {}),
    ...(service !== 'minio' && graceMs(grace) < minGraceMs ? { stop_grace_period: patientStop } : {}),
  }
  const completed = Object.entries(settings).reduce((text, [key, value]) => set(text, ['services', service, key], value), file)
  // Published ports of the chat server would bypass the fence.
  if (service === 'synapse')
    return Array.isArray(ports) && ports.length > 0 ? removeList(completed, ['services', service, 'ports']) : completed
  return service === 'postgres' && wants.databaseName !== undefined
    ? setDatabaseName(completed, now.environment, wants.databaseName)
    : completed
}

function setDatabaseName(file: YamlText, now: unknown, value: string): YamlText {
  const name = 'TENANTRY_DATABASE'
  const path = ['services', 'postgres', 'environment']
  const entry = `${name}=${value}`
  if (now === undefined || now === null) return setValue(file, path, { [name]: value })
  if (!Array.isArray(now)) return set(file, [...path, name], value)
  return now.includes(entry) ? file : appendValue(file, path, entry)
}

/** Parses compose durations such as `1m30s`; default 10 s. */
function graceMs(value: unknown): number {
  if (typeof value !== 'string') return 10_000
  const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const
  return [...value.matchAll(/([0-9.]+)(ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
    0,
  )
}

type HomeserverWants = Readonly<{
  /** Container path of the platform's application service registration. */
  appserviceFile: string
  /** Used when the file has none. */
  registrationSharedSecret: string
}>

const fileName = 'homeserver.yaml'
export const edgePort = 8008
export const platformPort = 8009

const listener = (port: number) => ({
  port,
  type: 'http',
  tls: false,
  // Only the edge is trusted to report client addresses.
  x_forwarded: port === edgePort,
  bind_addresses: ['0.0.0.0'],
  resources: [{ names: ['client'], compress: false }],
})

const unlimited = () => ({ per_second: 9999, burst_count: 9999 })
/**
 * All logins of a tenant come from the platform's address, and the platform limits failures itself. `failed_attempts` limits password guesses
 * of logged-in devices.
 */
const logins = { address: unlimited(), account: unlimited(), failed_attempts: { per_second: 0.02, burst_count: 100 } }

/** Adds required settings to homeserver.yaml (config/box-template); all other bytes stay. Throws COMPOSE_INVALID where it cannot be edited. */
export function completeHomeserver(text: string, wants: HomeserverWants): string {
  const listening = completeListeners({ name: fileName, text })
  const registered = add(listening, 'app_service_config_files', {
    value: wants.appserviceFile,
    isIn: (listed) => listed.includes(wants.appserviceFile),
  })
  const limited = set(registered, ['rc_login'], logins)
  const hasSecret = Boolean(valuesOf(limited).registration_shared_secret)
  return (hasSecret ? limited : setValue(limited, ['registration_shared_secret'], wants.registrationSharedSecret)).text
}

type Item = Readonly<{ value: unknown; isIn(listed: readonly unknown[]): boolean }>

/** Appends an item to a list that lacks it; creates a missing list. */
function add(file: YamlText, key: string, { value, isIn }: Item): YamlText {
  const listed = valuesOf(file)[key]
  if (listed !== undefined && listed !== null && !Array.isArray(listed))
    throw problem('COMPOSE_INVALID', `${fileName} has no list in ${key}. fix: make it a list, then show the diff again`)
  return Array.isArray(listed) && isIn(listed) ? file : appendValue(file, [key], value)
}

const listensOn = (listed: readonly unknown[], port: number): boolean => listed.some((one) => recordOf(one).port === port)

function completeListeners(file: YamlText): YamlText {
  return [edgePort, platformPort].reduce(
    (now, port) => add(now, 'listeners', { value: listener(port), isIn: (listed) => listensOn(listed, port) }),
    correctOuter(file),
  )
}

/** The edge's listener must be reachable from another container and trust the edge's client address. */
function correctOuter(file: YamlText): YamlText {
  const { listeners } = valuesOf(file)
  const listed = Array.isArray(listeners) ? listeners : []
  const at = listed.findIndex((one) => recordOf(one).port === edgePort)
  if (at < 0) return file
  const reachable = isReachable(recordOf(listed[at]).bind_addresses)
    ? file
    : setValue(file, ['listeners', at, 'bind_addresses'], ['0.0.0.0'])
  return set(reachable, ['listeners', at, 'x_forwarded'], true)
}

/** Without bind addresses Synapse listens on all interfaces. */
const isReachable = (addresses: unknown): boolean =>
  !Array.isArray(addresses) || addresses.some((address) => !/^(127\.|::1$|localhost$)/.test(String(address)))
