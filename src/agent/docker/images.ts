import { parseImage } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import type { LibC, LocalImage } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { ignoring } from './up.ts'

/** Skips an image removed during the read. */
export async function imagesOn(docker: Docker): Promise<LocalImage[]> {
  try {
    const [listed, containers] = await Promise.all([docker.listImages(), docker.listContainers({ all: true })])
    const used = new Set(containers.map(({ ImageID }) => ImageID))
    const found = await Promise.all(listed.map(({ Id }) => inspectImage(docker, Id)))
    return found.flatMap((image) => (image ? [{ ...image, used: used.has(image.id) }] : []))
  } catch (error) {
    throw engineProblem(error, 'Listing images', 'DOCKER_UNAVAILABLE')
  }
}

/** The client's types lack this field. */
type Inspected = Docker.ImageInspectInfo & Readonly<{ Metadata?: Readonly<{ LastTagTime?: string }> }>
type InspectedImage = Omit<LocalImage, 'used'>

async function inspectImage(docker: Docker, id: string): Promise<InspectedImage | undefined> {
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

/** Null for a missing or zero time. */
function timeOf(said: unknown): string | null {
  const at = typeof said === 'string' ? Date.parse(said) : Number.NaN
  return at > 0 ? new Date(at).toISOString() : null
}

type ImageToRemove = Pick<LocalImage, 'id' | 'names'>

/** Removes names one by one without force. Throws CONFLICT and restores the names when the image was renamed, pinned or used meanwhile. */
export async function removeImage(docker: Docker, target: ImageToRemove): Promise<void> {
  const what = target.id.slice(7, 19)
  try {
    const image = await inspectImage(docker, target.id)
    if (image) await removeInspected(docker, target, image)
  } catch (error) {
    if (hasStatus(error, 409)) throw problem('CONFLICT', `Image ${what} is in use`, { cause: error })
    throw engineProblem(error, `Removing image ${what}`, 'DOCKER_UNAVAILABLE')
  }
}

async function removeInspected(docker: Docker, target: ImageToRemove, image: InspectedImage): Promise<void> {
  assertUnchanged(target, image)
  try {
    // Removing the last name also removes the digests of its repository and the layers.
    await removeNames(docker, image)
    const left = await inspectImage(docker, target.id)
    if (!left) return
    assertUnchanged(target, left)
    await removeNames(docker, left)
  } catch (error) {
    // Restores the names, because a pin or a container keeps only the layers.
    for (const name of image.names.filter(isTag))
      await docker
        .getImage(target.id)
        .tag(tagOf(name))
        .catch(() => undefined)
    throw error
  }
}

/** Throws CONFLICT for an image that was pinned or got a new name since it was listed. */
function assertUnchanged({ names: known }: ImageToRemove, { names, pinned }: InspectedImage): void {
  if (pinned) throw problem('CONFLICT', `Image ${names.join(', ')} is pinned`)
  const added = names.filter((name) => isTag(name) && !known.includes(name))
  if (added.length > 0) throw problem('CONFLICT', `Image ${added.join(', ')} got a new name in the meantime`)
}

async function removeNames(docker: Docker, { names }: Pick<InspectedImage, 'names'>): Promise<void> {
  for (const name of names) await docker.getImage(name).remove({ noprune: true }).catch(ignoring(404))
}

const isTag = (name: string): boolean => !name.includes('@')

function tagOf(name: string): { repo: string; tag: string } {
  const { repository, tag } = parseImage(name)
  return { repo: repository, tag }
}

// A pin is an extra tag on this host, which keeps the layers when other names are removed. Pins of one label share a repository.

const pins = 'tenantry-pin/'

const isPin = (name: string): boolean => name.startsWith(pins)

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
    throw engineProblem(error, `Pinning ${image}`, 'NOT_FOUND')
  }
}

export async function unpin(docker: Docker, label: string): Promise<void> {
  try {
    const images = await docker.listImages({ filters: { reference: [repositoryOf(label)] } })
    const tags = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((tag) => tag.startsWith(`${repositoryOf(label)}:`))
    for (const tag of tags) await docker.getImage(tag).remove({ noprune: true }).catch(ignoring(404))
  } catch (error) {
    throw engineProblem(error, `Unpinning ${label}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Paths of the dynamic loaders, which identify the C library. */
const loaders = {
  glibc: ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'],
  musl: ['/lib/ld-musl-x86_64.so.1', '/lib/ld-musl-aarch64.so.1'],
} as const

/** Also removes the anonymous volumes that the engine creates for the image. */
const whole = { force: true, v: true }

/** Detects the C library of a local image by inspecting the files of a container that is never started. */
export async function libcOf(docker: Docker, image: string): Promise<LibC | null> {
  try {
    const looked = await makeContainer(docker, image)
    try {
      return await look(looked)
    } finally {
      await looked.remove(whole).catch(ignoring(404, 409))
    }
  } catch (error) {
    throw engineProblem(error, `Inspecting image ${image}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Named after the image, so that a leftover of a killed agent is replaced. */
async function makeContainer(docker: Docker, image: string): Promise<Docker.Container> {
  const name = `tenantry-look-${sha256Hex(image).slice(0, 16)}`
  await docker.getContainer(name).remove(whole).catch(ignoring(404, 409))
  return docker.createContainer({ name, Image: image, Entrypoint: ['/none'], NetworkDisabled: true }).catch((error: unknown) => {
    throw hasStatus(error, 404) ? problem('NOT_FOUND', `Image ${image} is not on this host`, { cause: error }) : error
  })
}

async function look(container: Docker.Container): Promise<LibC | null> {
  const has = async (paths: readonly string[]) => (await Promise.all(paths.map((path) => isThere(container, path)))).includes(true)
  const [glibc, musl] = [await has(loaders.glibc), await has(loaders.musl)]
  if (glibc !== musl) return glibc ? 'glibc' : 'musl'
  // Both: one was added to the distribution's own.
  return glibc ? ((await isThere(container, '/etc/alpine-release')) ? 'musl' : 'glibc') : null
}

/** Reads the empty response, because an unread one keeps its connection and the process alive. */
const isThere = (container: Docker.Container, path: string): Promise<boolean> =>
  container.infoArchive({ path }).then(
    (answer: NodeJS.ReadableStream) => {
      answer.resume()
      return true
    },
    (error: unknown) => {
      if (hasStatus(error, 404)) return false
      throw error
    },
  )
