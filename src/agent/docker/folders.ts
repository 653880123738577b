import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Docker } from './connect.ts'
import { engineProblem } from './engine-problem.ts'

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
  const more = byContainerd && (await isThere(usualContainerd)) ? [usualContainerd] : []
  return [said.DockerRootDir, ...more]
}

const told = async (docker: Docker, doing: string): Promise<Told> =>
  docker.info().catch((error) => {
    throw engineProblem(error, doing, 'DOCKER_UNAVAILABLE')
  })

/** An engine on another machine names folders that are not here. */
async function volumesIn({ DockerRootDir }: Told): Promise<string | undefined> {
  const folder = join(DockerRootDir, 'volumes')
  return (await isThere(folder)) ? folder : undefined
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
