import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, parseDocument, stringify } from 'yaml'
import { isProblem, problem, type Random, type Secret, secret } from '../../core/kit/index.ts'
import { readUtf8 } from '../../node/index.ts'
import { mountSources, readCompose } from '../boxes/index.ts'

/** Without the edge: the drill proves that the data is complete and the servers can serve it, and no client may reach them. */
export const drilledServices = ['postgres', 'minio', 'synapse'] as const

/** Keys copied from the original service; not ports, networks, names, rights and devices. */
const copiedKeys = [
  'image',
  'entrypoint',
  'command',
  'environment',
  'user',
  'working_dir',
  'shm_size',
  'stop_signal',
  'stop_grace_period',
  'logging',
  'volumes',
]

/**
 * The compose file of a drill: the same servers and config, on a network without egress, in volumes of its own. Throws COMPOSE_INVALID for
 * a stack that reaches outside its folder.
 */
export function drillCompose(text: string, project: string): string {
  const whole = parse(text, { merge: true }) as Record<string, Record<string, Record<string, unknown> | null> | undefined>
  const services = drilledServices.map((service) => [service, serviceOf(service, whole.services?.[service] ?? undefined)] as const)
  const keys = Object.keys(readCompose(text, project).volumes)
  return stringify({
    name: project,
    services: Object.fromEntries(services),
    networks: { default: { internal: true } },
    volumes: Object.fromEntries(keys.map((key) => [key, { name: `${project}-${key}` }])),
  })
}

function serviceOf(name: string, service: Record<string, unknown> | undefined): Record<string, unknown> {
  if (!service) throw problem('COMPOSE_INVALID', `the compose file of the snapshot has no service ${name}`)
  const outside = mountSources(service.volumes).find((source) => /^[/~]|\$|(^|\/)\.\.(\/|$)/.test(source))
  if (outside !== undefined)
    throw problem(
      'COMPOSE_INVALID',
      `${name} mounts ${outside}, outside the project folder: such a box cannot be drilled. fix: move what it mounts into the folder`,
    )
  const own = Object.fromEntries(copiedKeys.filter((key) => service[key] !== undefined).map((key) => [key, service[key]]))
  // No health check: each run starts a program, and nothing reads the result.
  return { ...own, healthcheck: { disable: true }, restart: 'no' }
}

const configFile = (boxFolder: string): string => join(boxFolder, 'synapse', 'homeserver.yaml')

/** The chat server of a copy contacts no other system: no push, application service, federation or mail. */
const quiet = {
  app_service_config_files: [],
  start_pushers: false,
  send_federation: false,
  federation_domain_whitelist: [],
  trusted_key_servers: [],
  report_stats: false,
  url_preview_enabled: false,
  enable_registration: false,
} as const

/**
 * Changes the copy's config accordingly and gives it a registration secret for a throw-away account. Written in place, because the file
 * belongs to the chat server's user. Throws COMPOSE_INVALID if there is no config.
 */
export async function makeConfigQuiet(boxFolder: string, random: Random): Promise<void> {
  const path = configFile(boxFolder)
  const document = parseDocument(await readConfig(path))
  for (const [key, value] of Object.entries(quiet)) document.set(key, document.createNode(value))
  for (const key of ['email', 'registration_shared_secret_path']) document.delete(key)
  document.set('registration_shared_secret', Buffer.from(random.bytes(32)).toString('hex'))
  await writeFile(path, document.toString())
}

export async function registrationSecretOf(boxFolder: string): Promise<Secret> {
  const found = parseDocument(await readConfig(configFile(boxFolder))).get('registration_shared_secret')
  if (typeof found !== 'string') throw problem('INTERNAL', `the config of the drill in ${boxFolder} has no registration secret`)
  return secret(found)
}

const readConfig = (path: string): Promise<string> =>
  readUtf8(path, { code: 'COMPOSE_INVALID' }).catch((cause) => {
    if (isProblem(cause)) throw cause
    throw problem('COMPOSE_INVALID', 'the snapshot has no synapse/homeserver.yaml, so its chat server cannot be isolated', {
      cause,
    })
  })
