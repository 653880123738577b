import { mkdir, rm } from 'node:fs/promises'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, LocalBox } from '../ports/index.ts'
import { readWholeDump, writeManifest } from './dump-manifest.ts'
import type { SnapshotEvidence } from './evidence.ts'
import type { UpdateRun } from './update-run.ts'

/**
 * The complete snapshot of a box that nothing writes to: dump, manifest, then all of it with media, objects, config and keys to the store.
 * A dump that an interrupted try left whole is used again; the copy to the store is made anew, because only its own end says that it is complete.
 */
export async function takeSnapshot(run: UpdateRun): Promise<SnapshotEvidence> {
  const { needs, box, context, signal, dumpFolder } = run
  const repository = await run.repository()
  const { sha256, counts } = await dumpOnce(run)
  const paths = [dumpFolder, box.project.folder, ...(await dataFolders(needs.engine, box))]
  const { id } = await needs.snapshots.take(repository, { tier: 'pre-update', commandId: context.commandId, slug: box.slug, paths }, signal)
  return { snapshotId: id, manifestSha256: sha256, counts }
}

async function dumpOnce(run: UpdateRun): Promise<{ sha256: string; counts: SnapshotEvidence['counts'] }> {
  const whole = await readWholeDump(run.dumpFolder).catch(() => undefined)
  if (whole) return { sha256: whole.sha256, counts: whole.manifest.rows }
  await clearDump(run)
  await mkdir(run.dumpFolder, { recursive: true, mode: 0o700 })
  try {
    const counts = await run.needs.inside.dumpDatabase(run.box, run.dumpFolder, run.signal)
    return { sha256: await writeManifest(run, counts), counts }
  } catch (error) {
    // A part of a dump helps nobody, and may be what fills the disk.
    await clearDump(run).catch(() => undefined)
    throw error
  }
}

export const clearDump = ({ dumpFolder }: UpdateRun): Promise<void> => rm(dumpFolder, { recursive: true, force: true })

/** The folders of the media and object volumes on the host. A snapshot that lacks one would be none: throws SNAPSHOT_FAILED. */
export async function dataFolders(engine: ContainerEngine, box: LocalBox): Promise<string[]> {
  const containers = await engine.containers(box.project)
  const volumes = (['synapse', 'minio'] as const).flatMap((service) => {
    const found = containers.filter((container) => container.service === service)
    if (found.length === 0)
      throw problem('SNAPSHOT_FAILED', `${service} of ${box.slug} has no container, so nobody knows where its data lies`)
    return found.flatMap((container) => container.volumes)
  })
  return Promise.all([...new Set(volumes)].map((volume) => folderOf(engine, volume)))
}

async function folderOf(engine: ContainerEngine, volume: string): Promise<string> {
  const folder = await engine.volumePath(volume)
  if (folder === undefined) throw problem('SNAPSHOT_FAILED', `the volume ${volume} is gone, or lies on another machine than this agent`)
  return folder
}
