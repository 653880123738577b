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
    throw engineProblem(error, `looking at the volume ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

/** With compose's own labels, so that compose takes it for its own. */
export async function createVolume(docker: Docker, project: Project, key: string, name: string): Promise<void> {
  const Labels = { 'com.docker.compose.project': project.name, 'com.docker.compose.volume': key }
  await docker.createVolume({ Name: name, Labels }).catch((error) => {
    throw engineProblem(error, `making the volume ${name}`, 'DOCKER_UNAVAILABLE')
  })
}

export async function removeVolume(docker: Docker, name: string): Promise<void> {
  try {
    await docker.getVolume(name).remove()
  } catch (error) {
    if (hasStatus(error, 404)) return
    if (hasStatus(error, 409)) throw problem('CONFLICT', `the volume ${name} is in use`, { cause: error })
    throw engineProblem(error, `removing the volume ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

type Told = Readonly<{ DockerRootDir: string; DriverStatus?: readonly (readonly string[])[] | null }>

export async function volumesFolder(docker: Docker): Promise<string | undefined> {
  return volumesIn(await told(docker, 'asking where its volumes lie'))
}

/** Where a containerd that is not the engine's own keeps what it has; the engine says that it does, and not where. */
const usualContainerd = '/var/lib/containerd'

export async function imageFolders(docker: Docker): Promise<readonly string[]> {
  const said = await told(docker, 'asking where its images lie')
  if ((await volumesIn(said)) === undefined) return []
  const byContainerd = (said.DriverStatus ?? []).some(([name, value]) => name === 'driver-type' && value?.startsWith('io.containerd.'))
  const more = byContainerd && (await isOnHost(usualContainerd)) ? [usualContainerd] : []
  return [said.DockerRootDir, ...more]
}

const told = async (docker: Docker, doing: string): Promise<Told> =>
  docker.info().catch((error) => {
    throw engineProblem(error, doing, 'DOCKER_UNAVAILABLE')
  })

/** An engine on another machine names folders that are not here. */
async function volumesIn({ DockerRootDir }: Told): Promise<string | undefined> {
  const folder = join(DockerRootDir, 'volumes')
  return (await isOnHost(folder)) ? folder : undefined
}

const isOnHost = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
