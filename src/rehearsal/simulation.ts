import { join } from 'node:path'
import type { CommandContext } from '../agent/ports/index.ts'
import { type BoxMigration, parseImage, type Service, VersionedService } from '../core/boxes/index.ts'
import type { Clock } from '../core/kit/index.ts'
import type { PlannedBox, RehearsalSettings, RehearsedFaults, RolloutPlan } from '../core/rollouts/index.ts'
import { currentManifest } from '../daemon/boxes/index.ts'
import type { Db } from '../daemon/db/index.ts'
import type { QueuedCommand } from './commands.ts'
import { faultsOf, isOffline, latenciesOf } from './conditions.ts'
import { type SimulatedBox, simulateBox } from './simulated-box.ts'

type Deps = Readonly<{
  db: Db
  clock: Clock
  seed: string
  folder: string
  settings: RehearsalSettings
  faults: RehearsedFaults
  plan: RolloutPlan
}>

/** Runs the commands of a rehearsal. A box is created at its first command and deleted after its last. */
export async function openSimulation(deps: Deps): Promise<{ perform(command: QueuedCommand): Promise<unknown> | undefined }> {
  const boxes = new Map<string, Promise<SimulatedBox>>()
  const createBox = await boxFactory(deps)
  const planned = new Map(deps.plan.boxes.map((box) => [box.tenantSlug, box]))
  const isUnreachable = (box: PlannedBox) => isOffline(deps.seed, deps.faults, box.hostName ?? box.hostId)

  const run = async (command: QueuedCommand, box: PlannedBox) => {
    const simulated = boxes.get(box.tenantSlug) ?? createBox(box)
    boxes.set(box.tenantSlug, simulated)
    const { executors, close } = await simulated
    const execute = executors[command.kind as keyof typeof executors] as (context: CommandContext, payload: unknown) => Promise<unknown>
    let isLast = command.kind === 'tenant-box.update'
    try {
      return await execute(contextOf(deps, command), command.payload)
    } catch (error) {
      isLast = true
      throw error
    } finally {
      if (isLast) {
        boxes.delete(box.tenantSlug)
        await close()
      }
    }
  }
  return {
    perform: (command) => {
      const box = planned.get(command.payload.slug)
      return box && !isUnreachable(box) ? run(command, box) : undefined
    },
  }
}

const contextOf = ({ settings }: Deps, { id, payload }: QueuedCommand): CommandContext => ({
  commandId: id,
  signal: new AbortController().signal,
  progress: () => undefined,
  secrets: async () => ({ snapshots: { repository: `rehearsal:${payload.slug}`, password: 'rehearsal', env: {}, mayCreate: true } }),
  migrations: async () => settings.migrations,
  deliver: async () => undefined,
  sendLines: async () => 'ended',
})

async function boxFactory({ db, clock, seed, folder, settings, faults }: Deps) {
  const { manifest } = await currentManifest(db)
  const rows = await db.selectFrom('boxes').select(['id', 'ownership_epoch', 'database_bytes']).execute()
  const boxRows = new Map(rows.map((row) => [row.id as string, row]))
  const tiersWithHistory = new Set(
    (await db.selectFrom('rollout_actions').select('tier').where('status', '=', 'succeeded').distinct().execute()).map(({ tier }) => tier),
  )
  const pulled = new Set<string>()
  const allowedImages = [...new Set(Object.values(manifest.images).map((image) => parseImage(image.replace('{version}', '0')).repository))]

  return async (box: PlannedBox): Promise<SimulatedBox> => {
    const {
      tenantSlug: slug,
      boxId,
      hostId,
      tier,
      from,
      images: targets,
      expectedMs,
      expectedFenceMs,
      worstFenceMs,
      fenceMode = 'until-stable',
      upgrade,
    } = box
    const row = boxRows.get(boxId)
    const databaseBytes = row?.database_bytes == null ? null : Number(row.database_bytes)
    const [service, target] = Object.entries(targets).sort(([one]) => (one === 'synapse' ? -1 : 1))[0] ?? []
    const image = target?.image
    const imageIsHere = image !== undefined && pulled.has(`${hostId} ${image}`)
    if (image !== undefined) pulled.add(`${hostId} ${image}`)
    const expectation = { expectedMs, expectedFenceMs, worstFenceMs }
    return simulateBox({
      ...{ clock, seed, slug, boxId, allowedImages, isUpgraded: upgrade !== undefined },
      folder: join(folder, slug),
      ownershipEpoch: Number(row?.ownership_epoch ?? 1),
      images: imagesNow(manifest.images, from),
      migrations: appliedTo(settings.migrations, from.migrationsHead),
      latencies: latenciesOf(settings, { expectation, fenceMode, databaseBytes, hasHistory: tiersWithHistory.has(tier), imageIsHere }),
      faults: faultsOf(seed, faults, { slug, image, isSynapse: service === 'synapse' }),
    })
  }
}

/** The running versions under the image names of the manifest, also for an adopted box. */
const imagesNow = (images: Readonly<Record<Service, string>>, from: PlannedBox['from']): Record<Service, string> => ({
  edge: images.edge,
  ...(Object.fromEntries(
    VersionedService.options.map((service) => [service, images[service].replace('{version}', from[service])]),
  ) as Record<VersionedService, string>),
})

const appliedTo = (migrations: readonly BoxMigration[], head: string): BoxMigration[] =>
  migrations.filter((migration) => migration.head <= head)
