import { headOf, Service, type VersionsReport } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { BoxServers, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import { readFence } from './box-fence.ts'
import type { FindFacts } from './find-facts.ts'
import { installedVersion } from './versions.ts'

export type ReportDeps = Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Clock; findFacts?: FindFacts }>

/** What RUNS in a box: digests from the engine, versions, migrations and size from the servers. The compose file is never asked for them. */
export async function reportVersions({ engine, servers, clock, findFacts }: ReportDeps, box: LocalBox): Promise<VersionsReport> {
  const [containers, said, database, fence] = await Promise.all([
    engine.containers(box.project),
    servers.serverVersions(box),
    servers.databaseFacts(box),
    readFence(box.project),
  ])
  const of = (service: Service) => containers.find((container) => container.service === service)
  const running = (service: Service) => (of(service)?.state === 'running' ? of(service)?.image : undefined)
  return {
    slug: box.slug,
    at: isoNow(clock),
    installed: {
      migrationsHead: database ? headOf(database.migrations) : 'unknown',
      postgres: installedVersion('postgres', said.postgres, running('postgres')),
      synapse: installedVersion('synapse', said.synapse, running('synapse')),
      minio: installedVersion('minio', said.minio, running('minio')),
    },
    services: Object.fromEntries(Service.options.map((service) => [service, serviceReport(of(service))])),
    fenced: fence !== undefined,
    ownershipEpoch: box.ownershipEpoch,
    managed: box.managed,
    ...(box.handedOver ? { handedOver: true } : {}),
    ...(fence ? { fence: { holder: fence.holder, since: fence.since } } : {}),
    ...(database ? { databaseBytes: database.bytes } : {}),
    ...(findFacts ? { facts: await findFacts(box, containers, database) } : {}),
  } as VersionsReport
}

function serviceReport(container: ContainerState | undefined): VersionsReport['services'][Service] {
  if (!container) return { image: '', digest: null, state: 'missing', restartCount: 0 }
  const { image, digest, restartCount, state } = container
  return { image, digest, restartCount, state: state === 'created' ? 'exited' : state }
}
