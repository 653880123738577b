import { isMap, isSeq, type YAMLMap } from 'yaml'
import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { recordOf } from '../boxes/index.ts'
import { type Editable, editable, ownMap, printed, same, setValue } from './yaml-edit.ts'

export type ComposeWants = Readonly<{
  /** The edge of the box template, as plain values. */
  edge: Record<string, unknown>
  /** Literal images for services that have none. */
  images: Readonly<Partial<Record<Service, string>>>
  /** Tells the agent role and database of the box where the container's own variables mean others. */
  databaseName?: string
}>

const fileName = 'the compose file'
const patientStop = '2m'
const shortestGraceMs = 60_000

/** What the compose file must say so that updates are safe (config/box-template). Throws COMPOSE_INVALID where it cannot be edited. */
export function completeCompose(text: string, wants: ComposeWants): string {
  const file = editable(fileName, text)
  const services = ownMap(fileName, file.root, 'services')
  const changes = [
    ...(['synapse', 'postgres', 'minio'] as const).map((service) => completeService(file, services, service, wants)),
    completeEdge(file, services, wants.edge),
  ]
  const result = printed(file, text, changes.includes(true))
  editable(fileName, result)
  return result
}

type Set = (key: string, value: unknown) => boolean

function completeService(file: Editable, services: YAMLMap, service: Exclude<Service, 'edge'>, wants: ComposeWants): boolean {
  const own = ownMap(`${fileName} (services)`, services, service)
  const now = recordOf(recordOf(file.plain.services)[service])
  const set: Set = (key, value) => {
    if (same(now[key], value)) return false
    setValue(file.document, own, key, value)
    return true
  }
  const image = wants.images[service]
  const changed = [
    image === undefined ? false : set('image', image),
    // `always` starts a container that was stopped on purpose when the engine restarts: in the midst of an update.
    set('restart', 'unless-stopped'),
    service === 'postgres' ? set('stop_signal', 'SIGINT') : false,
    service !== 'minio' && graceMs(now.stop_grace_period) < shortestGraceMs ? set('stop_grace_period', patientStop) : false,
    // What reaches the chat server past the edge passes the fence too.
    service === 'synapse' && Array.isArray(now.ports) && now.ports.length > 0 ? withoutPorts(own, set) : false,
    service === 'postgres' && wants.databaseName !== undefined
      ? addVariable(file, own, now.environment, 'TENANTRY_DATABASE', wants.databaseName)
      : false,
  ]
  return changed.includes(true)
}

function withoutPorts(own: YAMLMap, set: Set): boolean {
  // Those of a merge can only be overridden.
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
      `${fileName} takes the environment of postgres from an alias or a merge: write it out, then look again`,
    )
  return true
}

function completeEdge(file: Editable, services: YAMLMap, edge: Record<string, unknown>): boolean {
  if (same(recordOf(file.plain.services).edge, edge)) return false
  services.set('edge', file.document.createNode(edge))
  return true
}

/** Compose's durations: `90s`, `1m30s`. Its default is 10 s. */
function graceMs(value: unknown): number {
  if (typeof value !== 'string') return 10_000
  const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const
  return [...value.matchAll(/([0-9.]+)(ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
    0,
  )
}
