import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type BoxSecrets, readBoxSecrets } from '../boxes/index.ts'
import type { ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import type { Origin } from './http.ts'

/** A box and the engine that runs it. */
export type EngineBox = Readonly<{ engine: ContainerEngine; box: LocalBox }>

/** The part of a view that reaches a database, which may be one of a foreign stack. */
export type DatabaseView = Readonly<{
  box: Pick<LocalBox, 'slug'>
  secrets: BoxSecrets | undefined
  container(service: Service): Pick<ContainerState, 'id' | 'state'> | undefined
}>

/** Containers and server addresses of a box at one moment. */
export type BoxView = Readonly<{
  box: LocalBox
  secrets: BoxSecrets | undefined
  container(service: Service): ContainerState | undefined
  /** Synapse's listener, bypassing the edge. Undefined while it has no address. */
  chat: Origin | undefined
  /** The edge's probe listener; undefined for an observed box. */
  edge: Origin | undefined
}>

/** Synapse's platform listener in the box template; other stacks have only the default one. */
const ownPort = 8009
const defaultPort = 8008

export async function inspectBox(engine: ContainerEngine, box: LocalBox): Promise<BoxView> {
  const [containers, secrets] = await Promise.all([engine.containers(box.project), readBoxSecrets(box.project)])
  // During a recreation a service has two containers; prefer the running one.
  const container = (service: Service) =>
    containers.filter((one) => one.service === service).sort((a) => (a.state === 'running' ? -1 : 1))[0]
  const address = container('synapse')?.address
  return {
    box,
    secrets,
    container,
    chat: address ? { url: `http://${address}:${secrets ? ownPort : defaultPort}` } : undefined,
    edge:
      box.ports && secrets
        ? { url: `http://127.0.0.1:${box.ports.probe}`, headers: { 'x-tenantry-edge-secret': secrets.edgeSecret } }
        : undefined,
  }
}

/** Id of the running container of a service. Throws BOX_UNHEALTHY. */
export function runningId(view: DatabaseView, service: Service): string {
  const container = view.container(service)
  if (container?.state === 'running') return container.id
  throw problem('BOX_UNHEALTHY', `${service} of ${view.box.slug} is not running (${container?.state ?? 'no container'})`)
}
