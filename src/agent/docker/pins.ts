import { sha256Hex } from '../../core/kit/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem } from './engine-problem.ts'
import { ignoring } from './up.ts'

// A pin is one more tag on this host: `docker image prune -a` passes by what has a container or is asked for by name,
// and a second name outlives the removal of the first. Pins of one label share a repository.

const pins = 'tenantry-pin/'

export const isPin = (name: string): boolean => name.startsWith(pins)

const repositoryOf = (label: string): string => {
  const readable = label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60)
  return `${pins}${readable || 'pin'}-${sha256Hex(label).slice(0, 12)}`
}

export async function pin(docker: Docker, image: string, label: string): Promise<void> {
  try {
    await docker.getImage(image).tag({ repo: repositoryOf(label), tag: sha256Hex(image).slice(0, 12) })
  } catch (error) {
    throw engineProblem(error, `keeping ${image}`, 'NOT_FOUND')
  }
}

export async function unpin(docker: Docker, label: string): Promise<void> {
  try {
    const images = await docker.listImages({ filters: { reference: [repositoryOf(label)] } })
    const tags = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((tag) => tag.startsWith(`${repositoryOf(label)}:`))
    for (const tag of tags) await docker.getImage(tag).remove({ noprune: true }).catch(ignoring(404))
  } catch (error) {
    throw engineProblem(error, `letting go of ${label}`, 'DOCKER_UNAVAILABLE')
  }
}
