import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import { recordOf } from './mounts.ts'

/**
 * Services of a box with more than one container, by the resolved compose file or by hand. Two servers on one volume damage it, and no update
 * can prove which of them is healthy.
 */
export function scaledServices(whole: Readonly<Record<string, unknown>>, containers: readonly ContainerState[]): Service[] {
  const services = recordOf(whole.services)
  return Service.options.filter((name) => {
    const { scale, deploy } = recordOf(services[name])
    const configured = Number(scale ?? recordOf(deploy).replicas ?? 1)
    return configured > 1 || containers.filter(({ service }) => service === name).length > 1
  })
}

const scaledFinding = (service: string): string =>
  `${service} has more than one container. fix: remove replicas and scale from it in the compose file, then run \`docker compose up -d --scale ${service}=1\``

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'resolveCompose' | 'containers'> }>

/** Throws PREFLIGHT_REFUSED unless each service of the box has one container. */
export async function assertNotScaled({ engine }: Deps, { slug, project }: LocalBox, text: string): Promise<void> {
  const [whole, containers] = await Promise.all([engine.resolveCompose(project, text), engine.containers(project)])
  const [service] = scaledServices(whole, containers)
  if (service !== undefined) throw problem('PREFLIGHT_REFUSED', `In ${slug}, ${scaledFinding(service)}`)
}
