import { type Document, isMap, isScalar, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml'
import type { Service } from '../../core/boxes/index.ts'
import { canonicalJson, problem } from '../../core/kit/index.ts'

import { recordOf } from '../boxes/index.ts'

// Edits manually written YAML: comments, order and values stay. Line layout may change, but only in files that change.

type Editable = Readonly<{ document: Document; root: YAMLMap; plain: Record<string, unknown> }>

/** Parses one YAML map for editing. Throws COMPOSE_INVALID with the file name. */
function editable(name: string, text: string): Editable {
  const document = parseDocument(text, { merge: true })
  const [error] = document.errors
  if (error) throw problem('COMPOSE_INVALID', `${name} is not YAML: ${error.message.split('\n')[0]}`)
  if (!isMap(document.contents)) throw problem('COMPOSE_INVALID', `${name} is not a map`)
  const plain = document.toJS({ maxAliasCount: 200 }) as Record<string, unknown>
  return { document, root: document.contents as YAMLMap, plain }
}

/** Prints the edited file; identical to the previous text when nothing changed. */
function printed({ document }: Editable, former: string, changed: boolean): string {
  if (!changed) return former
  const indentSeq = !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(former)
  const count = (form: RegExp) => former.match(form)?.length ?? 0
  return document.toString({ lineWidth: 0, indentSeq, flowCollectionPadding: count(/[[{] \S/g) >= count(/[[{][\w"']/g) })
}

/** Sets a key of a map; a replaced string keeps its comment. */
function setValue(document: Document, map: YAMLMap, key: string, value: unknown): void {
  const now = map.get(key, true)
  if (isScalar(now) && typeof value === 'string' && !now.anchor && !/^BLOCK/.test(now.type ?? '')) now.value = value
  else map.set(key, document.createNode(value))
}

const same = (a: unknown, b: unknown): boolean => canonicalJson(a ?? null) === canonicalJson(b ?? null)

/** The file's own map; a map from an alias is shared with other nodes. */
function ownMap(name: string, parent: YAMLMap, key: string): YAMLMap {
  const value = parent.get(key, true)
  if (isMap(value)) return value
  throw problem('COMPOSE_INVALID', `${name} takes ${key} from an alias or a merge. fix: write it out, then show the diff again`)
}

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

/** Adds settings that safe updates need (config/box-template). Throws COMPOSE_INVALID where the file cannot be edited. */
export function completeCompose(text: string, wants: ComposeWants): string {
  const file = editable(composeFileName, text)
  const services = ownMap(composeFileName, file.root, 'services')
  const changes = [
    ...(['synapse', 'postgres', 'minio'] as const).map((service) => completeService(file, services, service, wants)),
    completeEdge(file, services, wants.edge),
  ]
  const result = printed(file, text, changes.includes(true))
  editable(composeFileName, result)
  return result
}

type Set = (key: string, value: unknown) => boolean

function completeService(file: Editable, services: YAMLMap, service: Exclude<Service, 'edge'>, wants: ComposeWants): boolean {
  const own = ownMap(`${composeFileName} (services)`, services, service)
  const now = recordOf(recordOf(file.plain.services)[service])
  const set: Set = (key, value) => {
    if (same(now[key], value)) return false
    setValue(file.document, own, key, value)
    return true
  }
  const image = wants.images[service]
  const changed = [
    image === undefined ? false : set('image', image),
    // With `always` an engine restart during an update would start a stopped container.
    set('restart', 'unless-stopped'),
    service === 'postgres' ? set('stop_signal', 'SIGINT') : false,
    service !== 'minio' && graceMs(now.stop_grace_period) < minGraceMs ? set('stop_grace_period', patientStop) : false,
    // Published ports of the chat server would bypass the fence.
    service === 'synapse' && Array.isArray(now.ports) && now.ports.length > 0 ? withoutPorts(own, set) : false,
    service === 'postgres' && wants.databaseName !== undefined
      ? addVariable(file, own, now.environment, 'TENANTRY_DATABASE', wants.databaseName)
      : false,
  ]
  return changed.includes(true)
}

function withoutPorts(own: YAMLMap, set: Set): boolean {
  // Ports from a merge can only be overridden.
  return own.delete('ports') || set('ports', [])
}

function addVariable(file: Editable, own: YAMLMap, now: unknown, name: string, value: string): boolean {
  const entry = `${name}=${value}`
  if (Array.isArray(now) ? now.includes(entry) : recordOf(now)[name] === value) return false
  const node = own.get('environment', true)
  if (isMap(node)) node.set(name, value)
  else if (isSeq(node)) node.add(file.document.createNode(entry))
  else if (now === undefined || now === null) own.set('environment', file.document.createNode({ [name]: value }))
  else
    throw problem(
      'COMPOSE_INVALID',
      `${composeFileName} takes the environment of postgres from an alias or a merge. fix: write it out, then show the diff again`,
    )
  return true
}

function completeEdge(file: Editable, services: YAMLMap, edge: Record<string, unknown>): boolean {
  if (same(recordOf(file.plain.services).edge, edge)) return false
  services.set('edge', file.document.createNode(edge))
  return true
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

/** Adds required settings to homeserver.yaml (config/box-template). Throws COMPOSE_INVALID where it cannot be edited. */
export function completeHomeserver(text: string, wants: HomeserverWants): string {
  const file = editable(fileName, text)
  const changes = [
    completeListeners(file),
    add(file, 'app_service_config_files', (listed) => listed.includes(wants.appserviceFile), wants.appserviceFile),
    setKey(file, 'rc_login', logins),
    file.plain.registration_shared_secret ? false : setKey(file, 'registration_shared_secret', wants.registrationSharedSecret),
  ]
  const result = printed(file, text, changes.includes(true))
  editable(fileName, result)
  return result
}

function setKey({ document, root, plain }: Editable, key: string, value: unknown): boolean {
  if (same(plain[key], value)) return false
  root.set(key, document.createNode(value))
  return true
}

/** Appends a value to a list; creates a missing list. */
function add(file: Editable, key: string, isThere: (listed: readonly unknown[]) => boolean, value: unknown): boolean {
  const listed = file.plain[key]
  if (Array.isArray(listed) && isThere(listed)) return false
  const node = file.root.get(key, true)
  if (isSeq(node)) node.add(file.document.createNode(value))
  else if (listed === undefined || listed === null) file.root.set(key, file.document.createNode([value]))
  else throw problem('COMPOSE_INVALID', `${fileName} has no list in ${key}. fix: make it a list, then show the diff again`)
  return true
}

const listensOn = (listed: readonly unknown[], port: number): boolean => listed.some((one) => recordOf(one).port === port)

function completeListeners(file: Editable): boolean {
  const corrected = correctOuter(file)
  const added = [edgePort, platformPort].map((port) => add(file, 'listeners', (listed) => listensOn(listed, port), listener(port)))
  return corrected || added.includes(true)
}

/** The edge's listener must be reachable from another container and trust the edge's client address. */
function correctOuter({ root, plain, document }: Editable): boolean {
  const listed = Array.isArray(plain.listeners) ? plain.listeners : []
  const at = listed.findIndex((one) => recordOf(one).port === edgePort)
  if (at < 0) return false
  const now = recordOf(listed[at])
  const list = root.get('listeners', true) as unknown as YAMLSeq
  const change = (key: string, value: unknown) => list.setIn([at, key], document.createNode(value))
  const loopback = !isReachable(now.bind_addresses)
  if (loopback) change('bind_addresses', ['0.0.0.0'])
  if (now.x_forwarded !== true) change('x_forwarded', true)
  return loopback || now.x_forwarded !== true
}

/** Without bind addresses Synapse listens on all interfaces. */
const isReachable = (addresses: unknown): boolean =>
  !Array.isArray(addresses) || addresses.some((address) => !/^(127\.|::1$|localhost$)/.test(String(address)))
