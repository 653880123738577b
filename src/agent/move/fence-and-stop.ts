import { isoNow, problem, type Random } from '../../core/kit/index.ts'
import type { DiskSpace } from '../backup/index.ts'
import { type BoxSettings, createFenceFile, type LocalBoxes, readFence } from '../boxes/index.ts'
import { isAlive } from '../change/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { RebuildDeps } from '../rebuild/index.ts'

export type MoveDeps = RebuildDeps &
  Readonly<{
    boxes: LocalBoxes
    random: Random
    journal: CommandJournal
    once: OnceOnly
    disk: DiskSpace
    settings: BoxSettings
    /** Dumps and fetched snapshots are below it until their command is over. */
    workFolder: string
    portInUse(port: number): Promise<boolean>
  }>

/** Closes the edge under the name of `holder`; idempotent. Throws BOX_HELD over the fence of another. */
export async function closeBox({ clock }: Pick<MoveDeps, 'clock'>, { slug, project }: LocalBox, holder: string): Promise<void> {
  if (await createFenceFile(project, { commandId: holder, raisedAt: isoNow(clock) })) return
  const present = await readFence(project)
  if (present && present.holder !== holder)
    throw problem(
      'BOX_HELD',
      `the box ${slug} is fenced by ${present.holder}. fix: end that first; \`tenantry-agent box fence ${slug}\` shows it`,
    )
}

type Stoppable = 'synapse' | 'minio' | 'postgres' | 'edge'

/** Stops services. Throws BOX_UNHEALTHY for a service that still runs. */
export async function stopServices(
  { engine }: Pick<MoveDeps, 'engine'>,
  { slug, project }: Pick<LocalBox, 'slug' | 'project'>,
  services: readonly Stoppable[],
) {
  await engine.stop(project, services)
  const alive = (await engine.containers(project)).find((one) => services.includes(one.service) && isAlive(one))
  if (alive) throw problem('BOX_UNHEALTHY', `${alive.service} of ${slug} did not stop`)
}
