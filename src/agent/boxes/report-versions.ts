import { headOf, parseImage, Service, type VersionedService, type VersionsReport } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { BoxServers, CommandExecutor, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import type { FindFacts } from './box-facts.ts'
import { readFence } from './fence-file.ts'

import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'

export type ReportDeps = Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Clock; findFacts?: FindFacts }>

/** Reports what runs in a box: digests from the engine; versions, migrations and size from the servers. Never reads them from the compose file. */
export async function reportVersions({ engine, servers, clock, findFacts }: ReportDeps, box: LocalBox): Promise<VersionsReport> {
  // The report that began later knows more.
  const at = isoNow(clock)
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
    at,
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

/** Extracts a version in the form of the manifest. */
const patterns = {
  synapse: /\d+\.\d+(?:\.\d+)?(?:rc\d+)?/,
  postgres: /\d+(?:\.\d+)+|\d+(?:beta|rc)\d+/,
  minio: /RELEASE\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z(?:\.[a-z0-9.]+)?/,
} as const satisfies Record<VersionedService, RegExp>

/** The version from the server, else from the running image's tag, else `unknown`. */
export function installedVersion(service: VersionedService, said: string | undefined, runningImage: string | undefined): string {
  const tag = runningImage === undefined ? undefined : parseImage(runningImage).tag
  return patterns[service].exec(said ?? '')?.[0] ?? patterns[service].exec(tag ?? '')?.[0] ?? 'unknown'
}

/** Executor of the version sync. */
export const report =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<'tenant-box.report_versions'> =>
  async (_, payload) => ({ report: await reportVersions(deps, await boxOfCommand(deps.boxes, payload, { handedOver: 'welcome' })) })

/** Runs one writing probe and reports versions. An unhealthy box is a result, not a failed command. */
export const healthcheck =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<'tenant-box.healthcheck'> =>
  async ({ signal }, payload) => {
    const box = await boxOfCommand(deps.boxes, payload)
    const probe = await deps.servers.probe(box, signal)
    return { probe, report: await reportVersions(deps, box) }
  }
