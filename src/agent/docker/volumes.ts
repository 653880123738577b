import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { Project } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'

export async function volumePath(docker: Docker, name: string): Promise<string | undefined> {
  try {
    return (await docker.getVolume(name).inspect()).Mountpoint
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw engineProblem(error, `Inspecting volume ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Sets compose's labels, so that compose uses the volume. */
export async function createVolume(
  docker: Docker,
  project: Project,
  { key, name }: Readonly<{ key: string; name: string }>,
): Promise<void> {
  const Labels = { 'com.docker.compose.project': project.name, 'com.docker.compose.volume': key }
  await docker.createVolume({ Name: name, Labels }).catch((error) => {
    throw engineProblem(error, `Creating volume ${name}`, 'DOCKER_UNAVAILABLE')
  })
}

export async function removeVolume(docker: Docker, name: string): Promise<void> {
  try {
    await docker.getVolume(name).remove()
  } catch (error) {
    if (hasStatus(error, 404)) return
    if (hasStatus(error, 409)) throw problem('CONFLICT', `Volume ${name} is in use`, { cause: error })
    throw engineProblem(error, `Removing volume ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

type EngineInfo = Readonly<{ DockerRootDir: string; DriverStatus?: readonly (readonly string[])[] | null }>

export async function volumesFolder(docker: Docker): Promise<string | undefined> {
  return volumesIn(await engineInfo(docker, 'Reading the volume folder'))
}

/** Default data folder of an external containerd; the engine does not report it. */
const defaultContainerdFolder = '/var/lib/containerd'

export async function imageFolders(docker: Docker): Promise<readonly string[]> {
  const info = await engineInfo(docker, 'Reading the image folder')
  if ((await volumesIn(info)) === undefined) return []
  const byContainerd = (info.DriverStatus ?? []).some(([name, value]) => name === 'driver-type' && value?.startsWith('io.containerd.'))
  const more = byContainerd && (await isOnHost(defaultContainerdFolder)) ? [defaultContainerdFolder] : []
  return [info.DockerRootDir, ...more]
}

const engineInfo = async (docker: Docker, doing: string): Promise<EngineInfo> =>
  docker.info().catch((error) => {
    throw engineProblem(error, doing, 'DOCKER_UNAVAILABLE')
  })

/** Undefined for an engine on another machine, whose folders do not exist here. */
async function volumesIn({ DockerRootDir }: EngineInfo): Promise<string | undefined> {
  const folder = join(DockerRootDir, 'volumes')
  return (await isOnHost(folder)) ? folder : undefined
}

const isOnHost = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
