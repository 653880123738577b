import { chmod, chown, mkdir, rm, stat } from 'node:fs/promises'
import { Service } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { syncFolder } from '../../node/index.ts'
import {
  type DataFolder,
  type DiskUse,
  type FullManifest,
  fetchData,
  fetchSnapshot,
  reserveDiskSpace,
  spaceForDump,
  spaceForSnapshot,
  volumeBytes,
} from '../backup/index.ts'
import {
  assertMountsAsWritten,
  assertNoOtherDatabases,
  assertNotScaled,
  assertOwnDatabaseFiles,
  assertRestorable,
  assertSafeFolder,
  type ComposeFacts,
  pinImage,
  reportVersions,
  resolvedFacts,
  writeProbeAccount,
} from '../boxes/index.ts'
import { assertDatabaseVolume, readComposeText, removeVolumes } from '../change/index.ts'
import type { StoredSnapshot } from '../ports/index.ts'
import { portableProbe, pullFormerImages, templateVolumes } from '../rebuild/index.ts'
import { type Before, type DataVolume, dataVolumes, quarantinedBy, type RestoreRun } from './restore-run.ts'

/**
 * Checks, fetches and refuses everything it can while the box serves. After it the restore needs only this host, and the store for its own
 * snapshot: the snapshot is verified, its media and objects are in new volumes, all images are here.
 */
export async function fetchAll(run: RestoreRun): Promise<Before> {
  const { deps, box, payload, signal, context } = run
  await assertSafeFolder(box.project)
  const text = await readComposeText(box)
  await assertNotScaled(deps, box, text)
  await assertRestorable(deps, box, text)
  const compose = await resolvedFacts(deps, box, text)
  await createLost(run)
  const before = await observeBefore(run, text, compose)
  // A box in quarantine does not return to its former volumes.
  if (before.quarantinedBy === null) await assertMountsAsWritten(deps.engine, box, 'restoring')
  // A box whose database is down must still be restorable.
  await assertNoOtherDatabases(deps, box, 'pass')
  await assertOwnDatabaseFiles(deps, box, before.database.volume)
  const data = [...(compose.services.synapse?.volumes ?? []), ...(compose.services.minio?.volumes ?? [])]
  for (const former of data) await removeVolumes(deps, dataVolumes(run, former))
  await deps.snapshots.version()
  const repository = await run.repository()
  const needRoomFor = await reserverFor(run, before, data)
  const { snapshotId, snapshotSha256: manifestSha256 } = payload
  const admit = async (snapshot: StoredSnapshot) => void (await needRoomFor(snapshot, false))
  const fetched = await fetchSnapshot(deps, { repository, snapshotId, manifestSha256, folder: run.fetchFolder, admit, signal })
  const { manifest } = fetched
  if (manifest.boxId !== box.boxId)
    throw problem('RESTORE_FAILED', `the snapshot ${snapshotId} is of the box ${manifest.slug} (${manifest.boxId}) and not of ${box.slug}`)
  if (!(await deps.snapshots.isOwn(box.slug, fetched.snapshot.id))) await keepProbeAccountOnly(fetched.boxFolder)
  for (const { image, digest } of Object.values(before.images))
    await pinImage(deps, { image, digest: digest ?? undefined, signal }, box.slug)
  await pullFormerImages(deps, manifest, { services: Service.options, pin: box.slug, context, signal })
  // The sizes of the dump and the images are known only now; the load behind the fence must fit beside them.
  const room = await needRoomFor(fetched.snapshot, true)
  const { images, migrationsHead } = manifest
  return { ...before, snapshot: { images, migrationsHead }, room, data: await fetchVolumes(run, manifest, compose) }
}

/**
 * A host that the box has left may be compromised: of the files in its snapshot only the account of the probe is put in place, which belongs
 * to the database. The present files of the box stay.
 */
async function keepProbeAccountOnly(folder: string): Promise<void> {
  const probe = await portableProbe(folder)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 })
  if (probe) await writeProbeAccount({ name: '', folder, composeFile: '' }, probe)
}

/** A host that lost all containers and volumes of the box gets empty ones, which the restore replaces. */
async function createLost({ deps, box, signal }: RestoreRun): Promise<void> {
  if ((await deps.engine.containers(box.project)).length > 0) return
  await deps.engine.create(box.project, Service.options, signal)
}

type Observed = Omit<Before, 'data' | 'snapshot' | 'room'>

async function observeBefore(run: RestoreRun, text: string, compose: ComposeFacts): Promise<Observed> {
  const { deps, box } = run
  const containers = await deps.engine.containers(box.project)
  const images = Service.options.map((service) => {
    const container = containers.find((candidate) => candidate.service === service)
    if (!container)
      throw problem('BOX_UNHEALTHY', `${service} of ${box.slug} has no container. fix: start the box once before restoring it`)
    return [service, { image: container.image, digest: container.digest }] as const
  })
  return {
    composeSha256: sha256Hex(text),
    images: Object.fromEntries(images),
    installed: (await reportVersions(deps, box)).installed,
    database: assertDatabaseVolume(run, compose),
    quarantinedBy: await quarantinedBy(run),
  }
}

/** Reserves space for the snapshot beside the present box, and for a dump of that unless the box is in quarantine. */
async function reserverFor(
  { deps, box, context, repository, fetchFolder: folder }: RestoreRun,
  { database, quarantinedBy }: Observed,
  data: string[],
) {
  const now = { databaseBytes: await volumeBytes(deps, [database.volume]), dataBytes: await volumeBytes(deps, data) }
  const kept = quarantinedBy === null ? spaceForDump(deps.workFolder, await repository(), now.databaseBytes) : []
  return async (snapshot: StoredSnapshot, fetched: boolean): Promise<DiskUse[]> => {
    const brought = await spaceForSnapshot(deps, { snapshot, folder, fetched, now })
    const room = [...kept, ...brought]
    await reserveDiskSpace(deps.disk, { commandId: context.commandId, what: `restoring ${box.slug}` }, room)
    return room
  }
}

async function fetchVolumes(run: RestoreRun, { paths }: FullManifest, compose: ComposeFacts): Promise<DataVolume[]> {
  const { deps, box, payload, signal, context } = run
  const made: { data: DataFolder; volume: DataVolume; into: string }[] = []
  for (const data of paths.data) {
    const key = volumeKey(data, compose, made)
    const former = key === null ? undefined : compose.volumes[key]
    if (key === null || former === undefined)
      throw problem(
        'RESTORE_FAILED',
        `the compose file of ${box.slug} has no volume ${data.key ?? 'with a name'} for ${data.service}, which the snapshot holds`,
      )
    const { volume: restored, folder: into } = await newVolume(run, key, former)
    made.push({ data, volume: { key, former, restored }, into })
  }
  context.progress({ step: 'fetch', detail: 'media and objects' })
  const repository = await run.repository()
  await fetchData(deps, { repository, snapshotId: payload.snapshotId, signal }, made)
  for (const { volume, into } of made) await copyOwner(run, volume.former, into)
  return made.map(({ volume }) => volume)
}

/**
 * The key in the present compose file, if the service mounts that volume: a snapshot never chooses the volume of another service. A box that was
 * moved since has the volumes of the box template, one for each service.
 */
export function volumeKey(
  { key, service }: Pick<DataFolder, 'key' | 'service'>,
  { volumes, services }: Pick<ComposeFacts, 'volumes' | 'services'>,
  made: readonly { volume: Pick<DataVolume, 'key'> }[],
): string | null {
  const named = key !== null && Object.hasOwn(volumes, key) ? volumes[key] : undefined
  if (named !== undefined && services[service]?.volumes.includes(named)) return key
  const templateKey = templateVolumes[service]
  return volumes[templateKey] === undefined || made.some(({ volume }) => volume.key === templateKey) ? null : templateKey
}

async function newVolume(run: RestoreRun, key: string, former: string): Promise<{ volume: string; folder: string }> {
  const { engine } = run.deps
  const volume = dataVolumes(run, former).at(-1) as string
  await engine.createVolume(run.box.project, key, volume)
  const folder = await engine.volumePath(volume)
  if (folder === undefined) throw problem('RESTORE_FAILED', `the volume ${volume} is on another machine than this agent`)
  return { volume, folder }
}

/** A snapshot holds the content of a folder, not its own owner and mode. */
async function copyOwner({ deps }: RestoreRun, former: string, folder: string): Promise<void> {
  const path = await deps.engine.volumePath(former)
  if (path === undefined) return
  const { uid, gid, mode } = await stat(path)
  if (process.getuid?.() === 0) await chown(folder, uid, gid)
  await chmod(folder, mode & 0o7777)
  await syncFolder(folder)
}
