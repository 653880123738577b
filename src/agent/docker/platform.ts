import { parseImage, pullFromSources } from '../../core/boxes/index.ts'
import type { ResolveOptions } from '../ports/index.ts'
import type { Docker, DockerSettings } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { distributionAt } from './registry.ts'

type Deps = Readonly<{ docker: Docker; settings: DockerSettings }>

/** A single image of another platform is pulled without an error, and its programs do not start. */
export async function misfit({ docker, settings }: Deps, image: string, options: ResolveOptions): Promise<string | undefined> {
  const own = await ownPlatform(docker)
  const local = await localPlatform(docker, image)
  const platforms = local ?? (await offeredPlatforms({ docker, settings }, image, options))
  if (platforms.length === 0 || platforms.includes(own)) return undefined
  return `${image} is for ${platforms.join(', ')}, and this host is ${own}. fix: push the image for ${own} under this tag`
}

async function ownPlatform(docker: Docker): Promise<string> {
  try {
    const { Os, Arch } = await docker.version()
    return `${Os}/${Arch}`
  } catch (error) {
    throw engineProblem(error, 'Reading the platform of the engine', 'DOCKER_UNAVAILABLE')
  }
}

async function localPlatform(docker: Docker, image: string): Promise<string[] | undefined> {
  try {
    const { Os, Architecture } = await docker.getImage(image).inspect()
    return [`${Os}/${Architecture}`]
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw engineProblem(error, `Inspecting ${image}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Attestations beside the images of an index are for `unknown`. */
const offeredPlatforms = ({ docker, settings }: Deps, image: string, options: ResolveOptions): Promise<string[]> =>
  pullFromSources(image, options, async (source) => {
    const reference = `${source.repository}:${parseImage(image).tag}`
    const { Platforms } = await distributionAt({ docker, settings }, { reference, source }, options.signal)
    const named = (Platforms ?? []).filter(({ os }) => os !== 'unknown' && os !== '')
    return [...new Set(named.map(({ os, architecture }) => `${os}/${architecture}`))]
  })
