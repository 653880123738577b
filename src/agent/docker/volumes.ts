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
