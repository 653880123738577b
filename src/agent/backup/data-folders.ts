import { readFile } from 'node:fs/promises'
import { isProblem, problem } from '../../core/kit/index.ts'
import { readCompose, resolvedFacts } from '../boxes/index.ts'
import type { ContainerEngine, LocalBox } from '../ports/index.ts'

/** The folder of one media or object volume on this host. */
export type DataFolder = Readonly<{
  service: 'synapse' | 'minio'
  /** The volume's key in the compose file; null for a volume that the file does not name. */
  key: string | null
  volume: string
  folder: string
}>

/** Keys of the compose file by the real names of its volumes. */
export type VolumeKeys = Readonly<Record<string, string>>

/**
 * The folders of all media and object volumes. Throws SNAPSHOT_FAILED if one is missing, or a service has none, because the snapshot would be incomplete. `known`: keys that
 * were read before; compose takes longer to read them than all else here.
 */
export async function dataFolders(engine: ContainerEngine, box: LocalBox, known?: VolumeKeys): Promise<DataFolder[]> {
  const containers = await engine.containers(box.project)
  const keys = new Map(Object.entries(known ?? (await readKeys(engine, box))))
  const mounts = (['synapse', 'minio'] as const).flatMap((service) => {
    const found = containers.filter((container) => container.service === service)
    if (found.length === 0)
      throw problem('SNAPSHOT_FAILED', `${service} of ${box.slug} has no container, so the folder of its data is unknown`)
    const volumes = [...new Set(found.flatMap((container) => container.volumes))]
    if (volumes.length === 0)
      throw problem(
        'SNAPSHOT_FAILED',
        `${service} of ${box.slug} mounts no named volume, so its data would not be in the snapshot. fix: move its data to a named volume of the compose file`,
      )
    return volumes.map((volume) => ({ service, volume }))
  })
  return Promise.all(
    mounts.map(async (mount) => ({ ...mount, key: keys.get(mount.volume) ?? null, folder: await folderOf(engine, mount.volume) })),
  )
}

/** Keys by real name. A file that compose refuses must not prevent a snapshot. */
async function readKeys(engine: ContainerEngine, box: LocalBox): Promise<VolumeKeys> {
  const text = await readFile(box.project.composeFile, 'utf8')
  const { volumes } = await resolvedFacts({ engine }, box, text).catch((error) => {
    if (isProblem(error, 'COMPOSE_INVALID')) return readCompose(text, box.project.name)
    throw error
  })
  return volumeKeys(volumes)
}

/** `volumes`: real names by key. */
export const volumeKeys = (volumes: Readonly<Record<string, string>>): VolumeKeys =>
  Object.fromEntries(Object.entries(volumes).map(([key, name]) => [name, key]))

async function folderOf(engine: ContainerEngine, volume: string): Promise<string> {
  const folder = await engine.volumePath(volume)
  if (folder === undefined) throw problem('SNAPSHOT_FAILED', `the volume ${volume} does not exist or is on another machine than this agent`)
  return folder
}
