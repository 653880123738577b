import { access } from 'node:fs/promises'
import { Service, type VersionsReport } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { BoxInside, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import { fenceSwitch } from './fence-switch.ts'
import { installedVersion } from './versions.ts'

export type ReportNeeds = Readonly<{ engine: ContainerEngine; inside: BoxInside; clock: Clock }>

/** What RUNS in a box: digests from the engine, versions and size from the servers. The compose file is never asked. */
export async function reportVersions({ engine, inside, clock }: ReportNeeds, box: LocalBox): Promise<VersionsReport> {
  const [containers, said, databaseBytes, fenced] = await Promise.all([
    engine.containers(box.project),
    inside.serverVersions(box),
    inside.databaseBytes(box),
    isFenced(box),
  ])
  const of = (service: Service) => containers.find((container) => container.service === service)
  const running = (service: Service) => (of(service)?.state === 'running' ? of(service)?.image : undefined)
  return {
    slug: box.slug,
    at: isoNow(clock),
    installed: {
      migrationsHead: box.migrationsHead,
      postgres: installedVersion('postgres', said.postgres, running('postgres')),
      synapse: installedVersion('synapse', said.synapse, running('synapse')),
      minio: installedVersion('minio', said.minio, running('minio')),
    },
    services: Object.fromEntries(Service.options.map((service) => [service, serviceReport(of(service))])),
    fenced,
    ownershipEpoch: box.ownershipEpoch,
    managed: box.managed,
    ...(databaseBytes === undefined ? {} : { databaseBytes }),
  } as VersionsReport
}

function serviceReport(container: ContainerState | undefined): VersionsReport['services'][Service] {
  if (!container) return { image: '', digest: null, state: 'missing', restartCount: 0 }
  const { image, digest, restartCount, state } = container
  return { image, digest, restartCount, state: state === 'created' ? 'exited' : state }
}

/** Whether the switch that closes the edge is there. */
const isFenced = (box: LocalBox): Promise<boolean> =>
  access(fenceSwitch(box.project)).then(
    () => true,
    () => false,
  )
