import { readFile } from 'node:fs/promises'
import { problem } from '../../core/kit/index.ts'
import { readCompose } from '../boxes/index.ts'
import type { ContainerEngine, LocalBox } from '../ports/index.ts'

/** The folder of one media or object volume on this host. */
export type DataFolder = Readonly<{
  service: 'synapse' | 'minio'
  /** The volume's key in the compose file; null for one that the file does not name. */
  key: string | null
  volume: string
  folder: string
}>

/** The folders of the media and object volumes. A snapshot that lacks one would be none: throws SNAPSHOT_FAILED. */
export async function dataFolders(engine: ContainerEngine, box: LocalBox): Promise<DataFolder[]> {
  const containers = await engine.containers(box.project)
  const keys = await volumeKeys(box)
  const mounts = (['synapse', 'minio'] as const).flatMap((service) => {
    const found = containers.filter((container) => container.service === service)
    if (found.length === 0)
      throw problem('SNAPSHOT_FAILED', `${service} of ${box.slug} has no container, so nobody knows where its data lies`)
    return [...new Set(found.flatMap((container) => container.volumes))].map((volume) => ({ service, volume }))
  })
  return Promise.all(
    mounts.map(async (mount) => ({ ...mount, key: keys.get(mount.volume) ?? null, folder: await folderOf(engine, mount.volume) })),
  )
}

async function volumeKeys({ project }: LocalBox): Promise<Map<string, string>> {
  const { volumes } = readCompose(await readFile(project.composeFile, 'utf8'), project.name)
  return new Map(Object.entries(volumes).map(([key, name]) => [name, key]))
}

async function folderOf(engine: ContainerEngine, volume: string): Promise<string> {
  const folder = await engine.volumePath(volume)
  if (folder === undefined) throw problem('SNAPSHOT_FAILED', `the volume ${volume} is gone, or lies on another machine than this agent`)
  return folder
}
