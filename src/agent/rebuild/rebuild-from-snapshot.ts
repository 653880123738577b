import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type DataFolder, type FullManifest, fetchData, fetchDumpAgain, runConcurrently } from '../backup/index.ts'
import { crashLoopDetector, pullImages, readCompose, readComposeFile, waitUntil } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox, Repository } from '../ports/index.ts'
import { type FetchedFiles, type RebuildDeps, whileVerified } from './fetched-snapshot.ts'

type ImageInput = Omit<Parameters<typeof pullImages>[1], 'images' | 'step'> & Readonly<{ services: readonly Service[] }>

/** Ensures that the images of the snapshot are here, by digest. Throws as `pullImages` does, and RESTORE_FAILED. */
export async function pullFormerImages(deps: RebuildDeps, { images, slug }: FullManifest, { services, ...how }: ImageInput): Promise<void> {
  const requested = Service.options.filter((service) => services.includes(service)).map((service) => [service, images[service]] as const)
  const unknown = requested.find(([, image]) => !image)
  if (unknown) throw problem('RESTORE_FAILED', `the snapshot of ${slug} does not record the image of ${unknown[0]}`)
  await pullImages(deps, { ...how, images: Object.fromEntries(requested), step: 'images' })
}

type Filling = Readonly<{ repository: Repository; snapshotId: string; fetched: Omit<FetchedFiles, 'boxFolder'>; signal?: AbortSignal }>

const databaseTimeoutMs = 10 * 60_000

/**
 * Makes and fills the volumes of a new project, with only PostgreSQL running. Removes everything of an earlier try first: a half-filled
 * volume is never loaded again. Throws RESTORE_FAILED, DISK_FULL, CONFLICT for a foreign volume.
 */
export async function fillProject(deps: RebuildDeps, box: LocalBox, filling: Filling): Promise<void> {
  const again = () => fetchDumpAgain(deps, filling, filling.fetched)
  await whileVerified(filling.fetched, (signal) => makeAndFill(deps, box, { ...filling, signal }), { ...filling, again })
}

async function makeAndFill(deps: RebuildDeps, box: LocalBox, filling: Filling): Promise<void> {
  const { engine } = deps
  await engine.removeProject(box.project.name)
  const volumes = await makeVolumes(deps, box)
  assertOneVolumeEach(box, filling.fetched.manifest)
  await fillVolumes(deps, box, {
    ...filling,
    folderOf: ({ service }) => folderOf(deps, box, volumes[templateVolumes[service]]),
    upDatabase: (within) => startDatabase(deps, box, within),
  })
}

type Volumes = Readonly<{ folderOf(data: DataFolder): Promise<string>; upDatabase(signal: AbortSignal): Promise<void> }>

/** Fetches media and objects while the database is loaded: one waits for the store, the other for the processor. */
export async function fillVolumes(
  deps: Pick<RebuildDeps, 'servers' | 'snapshots'>,
  box: LocalBox,
  { fetched, signal, folderOf, upDatabase, ...filling }: Filling & Volumes,
): Promise<void> {
  const { dumpFolder, manifest } = fetched
  const volumes = await Promise.all(manifest.paths.data.map(async (data) => ({ data, into: await folderOf(data) })))
  const load = async (within: AbortSignal) => {
    await upDatabase(within)
    await deps.servers.loadDatabase(box, { folder: dumpFolder, expected: manifest.rows }, within)
  }
  await runConcurrently([(within) => fetchData(deps, { ...filling, signal: within }, volumes), load], signal)
}

async function makeVolumes({ engine }: RebuildDeps, { project }: LocalBox): Promise<Readonly<Record<string, string>>> {
  const { volumes } = readCompose(await readComposeFile(project.composeFile), project.name)
  for (const [key, name] of Object.entries(volumes)) {
    if ((await engine.volumePath(name)) !== undefined)
      throw problem('CONFLICT', `a volume ${name} of another project than ${project.name} exists on this host. fix: rename or remove it`)
    await engine.createVolume(project, key, name)
  }
  return volumes
}

/** Keys of the volumes with media and objects in the box template. */
export const templateVolumes = { synapse: 'media', minio: 'objects' } as const

/** The content of two volumes would mix in one, and a box without the data of a service would serve as if it had none. */
function assertOneVolumeEach({ slug }: LocalBox, { paths }: FullManifest): void {
  const services = paths.data.map(({ service }) => service)
  const missing = (['synapse', 'minio'] as const).find((service) => !services.includes(service))
  if (missing)
    throw problem(
      'RESTORE_FAILED',
      `the snapshot of ${slug} has no volume of ${missing}, so its data would be lost. fix: use another snapshot`,
    )
  const twice = services.find((service, index) => services.indexOf(service) !== index)
  if (twice)
    throw problem('RESTORE_FAILED', `the snapshot of ${slug} has several volumes of ${twice}, but a box has one. fix: restore it by hand`)
}

async function folderOf({ engine }: RebuildDeps, { slug }: LocalBox, volume: string | undefined): Promise<string> {
  const folder = volume === undefined ? undefined : await engine.volumePath(volume)
  if (folder === undefined) throw problem('RESTORE_FAILED', `${slug} has no volume for its media or objects on this machine`)
  return folder
}

type Starting = Pick<RebuildDeps, 'engine' | 'servers' | 'clock'>

/** Starts only PostgreSQL and waits for it. `isReady`: for a database without the box's own role. Throws RESTORE_FAILED. */
export async function startDatabase(
  { engine, servers, clock, isReady = servers.databaseReady }: Starting & Readonly<{ isReady?: (box: LocalBox) => Promise<boolean> }>,
  box: LocalBox,
  signal: AbortSignal,
): Promise<void> {
  await engine.up(box.project, ['postgres'], signal)
  const ready = await waitUntil({ clock, everyMs: 200, timeoutMs: databaseTimeoutMs, signal }, async () => {
    const database = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')
    if (database?.state !== 'running')
      throw problem(
        'RESTORE_FAILED',
        `the database of ${box.project.name} exited at its start (exit code ${database?.exitCode ?? 'unknown'})`,
      )
    return isReady(box)
  })
  if (!ready) throw problem('RESTORE_FAILED', `the database of ${box.project.name} accepts no connections`)
}

/** Starts the servers of a filled project, each after those that it depends on. */
export async function startProject(
  { engine, signal }: Pick<RebuildDeps, 'engine'> & Readonly<{ signal: AbortSignal }>,
  { project }: LocalBox,
  services: readonly Service[],
): Promise<void> {
  for (const service of (['postgres', 'minio', 'synapse', 'edge'] as const).filter((one) => services.includes(one)))
    await engine.up(project, [service], signal)
}

/** The same servers, whose probe throws PROBE_FAILED at once when a container of the box keeps dying. */
export function watchfulServers(servers: BoxServers, engine: ContainerEngine): BoxServers {
  const isCrashLooping = crashLoopDetector()
  return {
    ...servers,
    probe: async (box, signal) => {
      await needAlive(engine, box, isCrashLooping)
      return servers.probe(box, signal)
    },
  }
}

async function needAlive(engine: ContainerEngine, box: LocalBox, isCrashLooping: ReturnType<typeof crashLoopDetector>): Promise<void> {
  const containers = await engine.containers(box.project)
  const dead = containers.find((container) => container.state === 'exited' || isCrashLooping(container))
  if (!dead) return
  const line = (await engine.logs(dead.id, 5).catch(() => '')).trim().split('\n').at(-1)
  throw problem('PROBE_FAILED', `${dead.service} of ${box.project.name} dies${line ? `: ${line.slice(0, 200)}` : ''}`)
}
