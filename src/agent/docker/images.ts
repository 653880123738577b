import { problem } from '../../core/kit/index.ts'
import type { LocalImage } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { isPin } from './pins.ts'
import { ignoring } from './up.ts'

/** One that goes away while we look is left out. */
export async function imagesOn(docker: Docker): Promise<LocalImage[]> {
  try {
    const [listed, containers] = await Promise.all([docker.listImages(), docker.listContainers({ all: true })])
    const used = new Set(containers.map(({ ImageID }) => ImageID))
    const found = await Promise.all(listed.map(({ Id }) => lookAt(docker, Id)))
    return found.flatMap((image) => (image ? [{ ...image, used: used.has(image.id) }] : []))
  } catch (error) {
    throw engineProblem(error, 'looking at the images', 'DOCKER_UNAVAILABLE')
  }
}

/** The engine's answer has more than the types of its client say. */
type Inspected = Docker.ImageInspectInfo & Readonly<{ Metadata?: Readonly<{ LastTagTime?: string }> }>
type Looked = Omit<LocalImage, 'used'>

async function lookAt(docker: Docker, id: string): Promise<Looked | undefined> {
  try {
    const { Id, RepoTags, RepoDigests, Metadata }: Inspected = await docker.getImage(id).inspect()
    const tags = (RepoTags ?? []).filter((tag) => !isPin(tag))
    const names = tags.length > 0 ? tags : (RepoDigests ?? [])
    return {
      id: Id,
      names,
      pulled: (RepoDigests ?? []).length > 0,
      pinned: (RepoTags ?? []).some(isPin),
      namedAt: timeOf(Metadata?.LastTagTime),
    }
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw error
  }
}

/** The engine's zero, and what it does not know, is no time. */
function timeOf(said: unknown): string | null {
  const at = typeof said === 'string' ? Date.parse(said) : Number.NaN
  return at > 0 ? new Date(at).toISOString() : null
}

/** Name by name, without force: what somebody pinned or runs meanwhile keeps its layers, and is told. */
export async function removeImage(docker: Docker, id: string): Promise<void> {
  try {
    const image = await lookAt(docker, id)
    if (!image) return
    if (image.pinned) throw problem('CONFLICT', `the image ${image.names.join(', ')} is pinned`)
    // The last name takes the digests of its repository, and the layers, with it.
    for (const name of image.names) await docker.getImage(name).remove({ noprune: true }).catch(ignoring(404))
    for (const name of (await lookAt(docker, id))?.names ?? []) await docker.getImage(name).remove({ noprune: true }).catch(ignoring(404))
  } catch (error) {
    if (hasStatus(error, 409)) throw problem('CONFLICT', `the image ${id.slice(7, 19)} is in use`, { cause: error })
    throw engineProblem(error, `removing the image ${id.slice(7, 19)}`, 'DOCKER_UNAVAILABLE')
  }
}
