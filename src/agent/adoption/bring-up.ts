import { Service } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { waitForService } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'

type Deps = Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Clock }>

/**
 * Brings a box to what its files say: what compose would recreate, what does not run, and what has to read its config again (`reread`);
 * nothing else is touched. The chat server is stopped while its database is exchanged, and started after it.
 */
export async function bringUp(
  { engine, servers, clock }: Deps,
  box: LocalBox,
  { reread, signal }: Readonly<{ reread: readonly Service[]; signal: AbortSignal }>,
): Promise<void> {
  const { project } = box
  const hashes = await engine.configHashes(project)
  const present = await engine.containers(project)
  const isCurrent = (service: Service) =>
    present.some((one) => one.service === service && hashes[service]?.includes(one.configHash ?? '') && one.state === 'running')
  const wanted = Service.options.filter((service) => hashes[service] !== undefined)
  const stale = wanted.filter((service) => !isCurrent(service) || reread.includes(service))
  const all = stale.includes('postgres') ? [...new Set<Service>([...stale, 'synapse'])] : stale
  await engine.stop(
    project,
    all.filter((service) => service === 'synapse' || service === 'edge'),
  )
  const up = async (service: Service) => {
    if (all.includes(service)) await engine.up(project, [service], signal)
  }
  await up('postgres')
  await waitForService({ engine, clock }, { signal }, box, 'postgres', () => servers.databaseReady(box))
  await up('minio')
  await up('synapse')
  await up('edge')
  await waitForService({ engine, clock }, { signal }, box, 'synapse', async () => (await servers.serverVersions(box)).synapse !== undefined)
}
