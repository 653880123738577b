import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type BoxSecrets, readBoxSecrets } from '../boxes/index.ts'
import type { ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import type { Origin } from './http.ts'

/** A box as one question sees it: its containers now, and the ways to its servers. */
export type BoxView = Readonly<{
  box: LocalBox
  secrets: BoxSecrets | undefined
  container(service: Service): ContainerState | undefined
  /** Synapse's own listener, past the edge. Undefined while it has no address. */
  chat: Origin | undefined
  /** The edge's probe listener; undefined for a box that is only observed. */
  edge: Origin | undefined
}>

/** Synapse's listener for the platform and the probe in our template; a stack of another make has only the usual one. */
const ownPort = 8009
const usualPort = 8008

export async function viewBox(engine: ContainerEngine, box: LocalBox): Promise<BoxView> {
  const [containers, secrets] = await Promise.all([engine.containers(box.project), readBoxSecrets(box.project)])
  // While one is being recreated, the living container is the one that is asked.
  const container = (service: Service) =>
    containers.filter((one) => one.service === service).sort((a) => (a.state === 'running' ? -1 : 1))[0]
  const address = container('synapse')?.address
  return {
    box,
    secrets,
    container,
    chat: address ? { url: `http://${address}:${secrets ? ownPort : usualPort}` } : undefined,
    edge:
      box.ports && secrets
        ? { url: `http://127.0.0.1:${box.ports.probe}`, headers: { 'x-tenantry-edge-secret': secrets.edgeSecret } }
        : undefined,
  }
}

/** The id of a service's running container; throws BOX_UNHEALTHY. */
export function runningId(view: BoxView, service: Service): string {
  const container = view.container(service)
  if (container?.state === 'running') return container.id
  throw problem('BOX_UNHEALTHY', `${service} of ${view.box.slug} does not run (${container?.state ?? 'no container'})`)
}
