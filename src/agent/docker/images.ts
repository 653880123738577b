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

/** Name by name, without force: what somebody pinned or runs meanwhile keeps its layers and gets its names back, and is told. */
export async function removeImage(docker: Docker, id: string): Promise<void> {
  try {
    const image = await lookAt(docker, id)
    if (!image) return
    if (image.pinned) throw pinned(image)
    // The last name takes the digests of its repository, and the layers, with it.
    await removeNames(docker, image)
    const left = await lookAt(docker, id)
    // Another agent of this engine: a pin alone keeps the layers, but nobody would find them by the name that compose files hold.
    if (left?.pinned) {
      for (const name of image.names.filter(isTag)) await docker.getImage(id).tag(tagOf(name))
      throw pinned(image)
    }
    if (left) await removeNames(docker, left)
  } catch (error) {
    if (hasStatus(error, 409)) throw problem('CONFLICT', `the image ${id.slice(7, 19)} is in use`, { cause: error })
    throw engineProblem(error, `removing the image ${id.slice(7, 19)}`, 'DOCKER_UNAVAILABLE')
  }
}

async function removeNames(docker: Docker, { names }: Pick<Looked, 'names'>): Promise<void> {
  for (const name of names) await docker.getImage(name).remove({ noprune: true }).catch(ignoring(404))
}

const isTag = (name: string): boolean => !name.includes('@')

function tagOf(name: string): { repo: string; tag: string } {
  const { repository, tag } = parseImage(name)
  return { repo: repository, tag }
}

const pinned = ({ names }: Pick<Looked, 'names'>) => problem('CONFLICT', `the image ${names.join(', ')} is pinned`)
