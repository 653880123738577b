import { fromSources, type PullSource, parseImage } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ResolveOptions } from '../ports/index.ts'
import type { Docker, DockerSettings } from './connect.ts'
import { engineProblem } from './engine-problem.ts'
import { type AuthConfig, authFor } from './registry-auth.ts'

/**
 * The digest under which the engine would have the image after a pull: of an image for several machines the one of their list, which
 * `RepoDigests` holds too.
 */
export const resolve = (docker: Docker, settings: DockerSettings, image: string, options: ResolveOptions): Promise<string> =>
  fromSources(image, options, (source) => resolveAt(docker, settings, image, source, options))

async function resolveAt(
  docker: Docker,
  settings: DockerSettings,
  image: string,
  source: PullSource,
  { signal }: ResolveOptions,
): Promise<string> {
  signal?.throwIfAborted()
  const reference = `${source.repository}:${parseImage(image).tag}`
  const what = `${reference} cannot be asked for`
  try {
    const { Descriptor } = await distribution(docker, reference, await authFor(settings, source), signal)
    if (Descriptor?.digest) return Descriptor.digest
  } catch (error) {
    signal?.throwIfAborted()
    throw engineProblem(error, what, 'PULL_FAILED')
  }
  throw problem('PULL_FAILED', `${what}: the engine told no digest`)
}

type Told = Readonly<{ Descriptor?: Readonly<{ digest?: string }> }>

/** The client's own call of that name cannot be broken off: for each registry that is silent one would stay open for a minute. */
const distribution = (docker: Docker, reference: string, authconfig: AuthConfig | undefined, abortSignal: AbortSignal | undefined) =>
  new Promise<Told>((resolve, reject) => {
    const call = { path: `/distribution/${reference}/json`, method: 'GET', statusCodes: { 200: true }, authconfig, abortSignal }
    docker.modem.dial(call, (error: unknown, told: unknown) => (error ? reject(error) : resolve(told as Told)))
  })
