import { problem, sha256Hex } from '../../core/kit/index.ts'
import type { LibC } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { ignoring } from './up.ts'

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
