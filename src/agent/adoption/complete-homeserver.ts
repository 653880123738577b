import { isSeq, type YAMLSeq } from 'yaml'
import { problem } from '../../core/kit/index.ts'
import { recordOf } from '../boxes/index.ts'
import { type Editable, editable, printed, same } from './yaml-edit.ts'

export type HomeserverWants = Readonly<{
  /** Where the chat server finds the platform's registration, in its container. */
  appserviceFile: string
  /** Used where the file has none of its own. */
  registrationSharedSecret: string
}>

const fileName = 'homeserver.yaml'
export const edgePort = 8008
export const platformPort = 8009

const listener = (port: number) => ({
  port,
  type: 'http',
  tls: false,
  // Behind the platform's stands nobody whose word about an address should be believed.
  x_forwarded: port === edgePort,
  bind_addresses: ['0.0.0.0'],
  resources: [{ names: ['client'], compress: false }],
})

const unlimited = () => ({ per_second: 9999, burst_count: 9999 })
/**
 * All logins of a tenant come from the platform's one address, and it keeps its own count of failures, which never reaches the bound of the last: that
 * is for whoever guesses a password where the chat server asks a logged-in device for it again.
 */
const logins = { address: unlimited(), account: unlimited(), failed_attempts: { per_second: 0.02, burst_count: 100 } }

/** What the chat server's config must say (config/box-template). Throws COMPOSE_INVALID where it cannot be edited. */
export function completeHomeserver(text: string, wants: HomeserverWants): string {
  const file = editable(fileName, text)
  const changes = [
    completeListeners(file),
    add(file, 'app_service_config_files', (listed) => listed.includes(wants.appserviceFile), wants.appserviceFile),
    set(file, 'rc_login', logins),
    file.plain.registration_shared_secret ? false : set(file, 'registration_shared_secret', wants.registrationSharedSecret),
  ]
  const result = printed(file, text, changes.includes(true))
  editable(fileName, result)
  return result
}

function set({ document, root, plain }: Editable, key: string, value: unknown): boolean {
  if (same(plain[key], value)) return false
  root.set(key, document.createNode(value))
  return true
}

/** Puts a value at the end of a list of the file, which is made where there is none. */
function add(file: Editable, key: string, isThere: (listed: readonly unknown[]) => boolean, value: unknown): boolean {
  const listed = file.plain[key]
  if (Array.isArray(listed) && isThere(listed)) return false
  const node = file.root.get(key, true)
  if (isSeq(node)) node.add(file.document.createNode(value))
  else if (listed === undefined || listed === null) file.root.set(key, file.document.createNode([value]))
  else throw problem('COMPOSE_INVALID', `${fileName} has no list in ${key}: write one, then look again`)
  return true
}

const listensOn = (listed: readonly unknown[], port: number): boolean => listed.some((one) => recordOf(one).port === port)

function completeListeners(file: Editable): boolean {
  const corrected = correctOuter(file)
  const added = [edgePort, platformPort].map((port) => add(file, 'listeners', (listed) => listensOn(listed, port), listener(port)))
  return corrected || added.includes(true)
}

/** The edge's listener: reached from another container, and told by the edge who the client is. */
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

/** Without addresses Synapse listens on all. */
const isReachable = (addresses: unknown): boolean =>
  !Array.isArray(addresses) || addresses.some((address) => !/^(127\.|::1$|localhost$)/.test(String(address)))
