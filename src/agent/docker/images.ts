import { parseImage } from '../../core/boxes/index.ts'
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

type Judged = Pick<LocalImage, 'id' | 'names'>

/** Name by name, without force: what somebody names anew, pins or runs meanwhile keeps its layers and gets its names back, and is told. */
export async function removeImage(docker: Docker, judged: Judged): Promise<void> {
  const what = judged.id.slice(7, 19)
  try {
    const image = await lookAt(docker, judged.id)
    if (image) await removeLooked(docker, judged, image)
  } catch (error) {
    if (hasStatus(error, 409)) throw problem('CONFLICT', `the image ${what} is in use`, { cause: error })
    throw engineProblem(error, `removing the image ${what}`, 'DOCKER_UNAVAILABLE')
  }
}

async function removeLooked(docker: Docker, judged: Judged, image: Looked): Promise<void> {
  refuseTaken(judged, image)
  try {
    // The last name takes the digests of its repository, and the layers, with it.
    await removeNames(docker, image)
    const left = await lookAt(docker, judged.id)
    if (!left) return
    refuseTaken(judged, left)
    await removeNames(docker, left)
  } catch (error) {
    // A pin or a container alone keeps the layers, but nobody would find them by the name that compose files hold.
    for (const name of image.names.filter(isTag))
      await docker
        .getImage(judged.id)
        .tag(tagOf(name))
        .catch(() => undefined)
    throw error
  }
}

/** By another agent of this engine, or for a box that is made: a name that it did not have is one that nobody judged. */
function refuseTaken({ names: known }: Judged, { names, pinned }: Looked): void {
  if (pinned) throw problem('CONFLICT', `the image ${names.join(', ')} is pinned`)
  const added = names.filter((name) => isTag(name) && !known.includes(name))
  if (added.length > 0) throw problem('CONFLICT', `the image ${added.join(', ')} was named meanwhile`)
}

async function removeNames(docker: Docker, { names }: Pick<Looked, 'names'>): Promise<void> {
  for (const name of names) await docker.getImage(name).remove({ noprune: true }).catch(ignoring(404))
}

const isTag = (name: string): boolean => !name.includes('@')

function tagOf(name: string): { repo: string; tag: string } {
  const { repository, tag } = parseImage(name)
  return { repo: repository, tag }
}
