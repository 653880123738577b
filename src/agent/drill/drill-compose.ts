import { parse, stringify } from 'yaml'
import { problem } from '../../core/kit/index.ts'
import { mountSources, readCompose } from '../boxes/index.ts'

/** The edge is left out: what is proven is that the data is whole and the servers can serve it, and nobody is to reach them. */
export const drilledServices = ['postgres', 'minio', 'synapse'] as const

/** What a service of the copy keeps of its own. Ports, networks, names, rights and devices are not among it. */
const kept = [
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
 * The compose file of a drill, made from the box's own: the same servers with the same config, on a network that leads nowhere, in volumes of
 * its own. Throws COMPOSE_INVALID for a stack that would reach outside its folder.
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
    throw problem('COMPOSE_INVALID', `${name} mounts ${outside}, outside the project folder: such a box cannot be drilled`)
  const own = Object.fromEntries(kept.filter((key) => service[key] !== undefined).map((key) => [key, service[key]]))
  // Nobody looks at the health of a copy, and its image may have a check too: each run of one starts a program.
  return { ...own, healthcheck: { disable: true }, restart: 'no' }
}
