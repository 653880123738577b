import { parseImage } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import type { LibC, LocalImage } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
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

// A pin is one more tag on this host: `docker image prune -a` passes by what has a container or is asked for by name,
// and a second name outlives the removal of the first. Pins of one label share a repository.

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

/** The loader that every program is started by tells the library. */
const loaders = {
  glibc: ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'],
  musl: ['/lib/ld-musl-x86_64.so.1', '/lib/ld-musl-aarch64.so.1'],
} as const

/** With the volume that the engine makes of what its image declares as one: without it each look at a database left one behind. */
const whole = { force: true, v: true }

/** Which C library an image on this host has. Nothing of the image is run: a container that is never started is looked into. */
export async function libcOf(docker: Docker, image: string): Promise<LibC | null> {
  try {
    const looked = await makeContainer(docker, image)
    try {
      return await look(looked)
    } finally {
      await looked.remove(whole).catch(ignoring(404, 409))
    }
  } catch (error) {
    throw engineProblem(error, `looking into the image ${image}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Named after the image: what a killed agent left behind is taken away by the next look. */
async function makeContainer(docker: Docker, image: string): Promise<Docker.Container> {
  const name = `tenantry-look-${sha256Hex(image).slice(0, 16)}`
  await docker.getContainer(name).remove(whole).catch(ignoring(404, 409))
  return docker.createContainer({ name, Image: image, Entrypoint: ['/none'], NetworkDisabled: true }).catch((error: unknown) => {
    throw hasStatus(error, 404) ? problem('NOT_FOUND', `the image ${image} is not on this host`, { cause: error }) : error
  })
}

async function look(container: Docker.Container): Promise<LibC | null> {
  const has = async (paths: readonly string[]) => (await Promise.all(paths.map((path) => isThere(container, path)))).includes(true)
  const [glibc, musl] = [await has(loaders.glibc), await has(loaders.musl)]
  if (glibc !== musl) return glibc ? 'glibc' : 'musl'
  // Both: one of them was put in beside the distribution's own.
  return glibc ? ((await isThere(container, '/etc/alpine-release')) ? 'musl' : 'glibc') : null
}

/** The answer has no body, yet it is over only once it was read: until then its connection keeps a program that has ended from going. */
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
