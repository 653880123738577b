import { type PullSource, parseImage } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { PullOptions } from '../ports/index.ts'
import type { Docker, DockerSettings } from './connect.ts'
import { engineProblem } from './engine-problem.ts'
import { fromSources } from './from-sources.ts'
import { authFor } from './registry-auth.ts'

/**
 * The digest under which the engine would have the image after a pull: of an image for several machines the one of their list, which
 * `RepoDigests` holds too.
 */
export const resolve = (
  docker: Docker,
  settings: DockerSettings,
  image: string,
  options: Pick<PullOptions, 'registries'>,
): Promise<string> => fromSources(image, options, (source) => resolveAt(docker, settings, image, source))

async function resolveAt(docker: Docker, settings: DockerSettings, image: string, source: PullSource): Promise<string> {
  const reference = `${source.repository}:${parseImage(image).tag}`
  const what = `${reference} cannot be asked for`
  try {
    const authconfig = await authFor(settings, source)
    const { Descriptor } = (await docker.getImage(reference).distribution(authconfig && { authconfig })) as Told
    if (Descriptor?.digest) return Descriptor.digest
  } catch (error) {
    throw engineProblem(error, what, 'PULL_FAILED')
  }
  throw problem('PULL_FAILED', `${what}: the engine told no digest`)
}

/** The types of the engine's client have it in lower case. */
type Told = Readonly<{ Descriptor?: Readonly<{ digest?: string }> }>
