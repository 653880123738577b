import { type BoxCommandPayload, type InstalledVersions, Service } from '../../core/boxes/index.ts'
import { isProblem, plural, problem } from '../../core/kit/index.ts'
import { prepareRepository, type Reserved, reserveDiskSpace, type SpaceOwner, spaceForDump, volumeBytes } from '../backup/index.ts'
import { assertNoOtherDatabases, assertSafeFolder, extraServicesOf, readCompose, reportVersions, waitUntil } from '../boxes/index.ts'
import { readComposeText } from '../change/index.ts'
import type { CommandContext, ContainerState, LocalBox, Repository } from '../ports/index.ts'
import type { MoveDeps } from './fence-and-stop.ts'
import { assertMovable } from './render-moved-box.ts'

// The first step of a hand-over: what a move needs, and the little that a removal needs.

/** One hand-over on this host. */
export type HandOverRun = Readonly<{
  deps: MoveDeps
  context: CommandContext
  payload: BoxCommandPayload<'tenant-box.hand_over'>
  box: LocalBox
  repository(): Promise<Repository>
}>

export type Ready = Reserved &
  Readonly<{
    images: Record<string, { image: string; digest: string | null }>
    installed: InstalledVersions
    /** A removed box that is not whole: its last snapshot may fail, or is not tried, with the reason. */
    isBroken?: boolean
    noSnapshot?: string
  }>

export const holderOf = ({ context, box }: Pick<HandOverRun, 'context' | 'box'>): SpaceOwner => ({
  commandId: context.commandId,
  what: `the last dump of ${box.slug}`,
})

export async function prepareHandOver(run: HandOverRun): Promise<Ready> {
  const { deps, box } = run
  await assertSafeFolder(box.project)
  await assertNoOtherServices(box)
  await assertMovable(deps, box)
  const containers = await deps.engine.containers(box.project)
  const down = firstDown(containers)
  if (down) throw problem('BOX_UNHEALTHY', `${down} of ${box.slug} does not run. fix: repair the box before moving it`)
  await assertNoOtherDatabases(deps, box)
  return prepareSnapshot(run, containers)
}

const firstDown = (containers: readonly ContainerState[]): Service | undefined =>
  Service.options.find((service) => containers.find((one) => one.service === service)?.state !== 'running')

/** Only a box that is whole must have its last snapshot; a store that is away is no fault of the box. */
export const needsLastSnapshot = (isBroken: boolean | undefined, error: unknown): boolean =>
  !isBroken || isProblem(error, 'SNAPSHOT_STORE_UNAVAILABLE')

/** A removal needs no health and no template. */
export async function prepareRemoval(run: HandOverRun): Promise<Ready> {
  const { deps, box } = run
  const containers = await deps.engine.containers(box.project)
  const isBroken = firstDown(containers) !== undefined || !(await isReadable(box))
  try {
    await startDatabase(run, containers)
    await assertNoOtherDatabases(deps, box, 'pass')
    return { ...(await prepareSnapshot(run, containers)), isBroken }
  } catch (error) {
    run.context.signal.throwIfAborted()
    if (needsLastSnapshot(isBroken, error)) throw error
    return { room: [], images: {}, installed: unknownVersions, isBroken, noSnapshot: (error as Error).message }
  }
}

/** A snapshot is taken by what the compose file says. */
async function isReadable(box: LocalBox): Promise<boolean> {
  try {
    return readCompose(await readComposeText(box), box.project.name).database !== undefined
  } catch {
    return false
  }
}

/** A stopped box has a last snapshot if its database starts. */
async function startDatabase({ deps, context, box }: HandOverRun, containers: readonly ContainerState[]): Promise<void> {
  const { engine, servers, clock } = deps
  const { signal } = context
  const isThere = containers.some(({ service }) => service === 'postgres')
  if (isThere) await engine.start(box.project, ['postgres'])
  const isUp = () => servers.databaseReady(box)
  if (isThere && (await waitUntil({ clock, everyMs: 1_000, timeoutMs: databaseMs, signal }, isUp))) return
  throw problem('BOX_UNHEALTHY', `postgres of ${box.slug} does not run`)
}

const databaseMs = 2 * 60_000

const unknownVersions: InstalledVersions = { migrationsHead: '0000', postgres: 'unknown', synapse: 'unknown', minio: 'unknown' }

async function prepareSnapshot(run: HandOverRun, containers: readonly ContainerState[]): Promise<Ready> {
  const { deps, box } = run
  const repository = await run.repository()
  await prepareRepository(deps, run.context, repository)
  const bytes = await volumeBytes(deps, containers.find(({ service }) => service === 'postgres')?.volumes ?? [])
  const room = spaceForDump(deps.workFolder, repository, bytes)
  await reserveDiskSpace(deps.disk, holderOf(run), room)
  const { installed } = await reportVersions(deps, box)
  return { room, installed, images: Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }])) }
}

/** A snapshot does not contain other services, and the next host would not start them. */
async function assertNoOtherServices(box: LocalBox): Promise<void> {
  const otherServices = [
    ...readCompose(await readComposeText(box), box.project.name).otherServices,
    ...(await extraServicesOf(box.project)),
  ]
  if (otherServices.length === 0) return
  throw problem(
    'PREFLIGHT_REFUSED',
    `the compose files of ${box.slug} have ${plural(otherServices.length, 'service')} that do not belong to a box (${otherServices.slice(0, 20).join(', ')}) and are in no snapshot. fix: move them to a project of their own first`,
  )
}
