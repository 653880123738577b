import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type PullSource, parseImage, pullFromSources, registryOf } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ResolveOptions } from '../ports/index.ts'
import type { Docker, DockerSettings } from './connect.ts'

import { registryProblem } from './engine-problem.ts'

type AuthConfig = Readonly<{ username: string; password: string; serveraddress: string }>

/** Credentials for a pull: the account of the source, else those of `docker login`. The API expects them with each call. */
export async function authFor(settings: DockerSettings, { repository, account }: PullSource): Promise<AuthConfig | undefined> {
  if (!account) return credentialsFor(settings, repository)
  return { username: account.username, password: account.password, serveraddress: serverOf(account.registry) }
}

/** Name of a registry in the engine's API. */
const serverOf = (registry: string): string => (registry === 'docker.io' ? 'https://index.docker.io/v1/' : registry)

async function credentialsFor({ dockerConfig }: DockerSettings, repository: string): Promise<AuthConfig | undefined> {
  if (dockerConfig === undefined) return undefined
  const text = await readFile(join(dockerConfig, 'config.json'), 'utf8').catch(() => '{}')
  const { auths = {} } = JSON.parse(text) as { auths?: Record<string, { auth?: string }> }
  const serveraddress = serverOf(registryOf(repository).registry)
  const [username, ...password] = Buffer.from(auths[serveraddress]?.auth ?? '', 'base64')
    .toString('utf8')
    .split(':')
  return username ? { username, password: password.join(':'), serveraddress } : undefined
}

/** The digest that the image would have after a pull; for a multi-platform image that of its index, as in `RepoDigests`. */
export const resolve = (
  { docker, settings }: Readonly<{ docker: Docker; settings: DockerSettings }>,
  image: string,
  options: ResolveOptions,
): Promise<string> => pullFromSources(image, options, (source) => resolveAt(docker, settings, { image, source, ...options }))

async function resolveAt(
  docker: Docker,
  settings: DockerSettings,
  { image, source, signal }: ResolveOptions & Readonly<{ image: string; source: PullSource }>,
): Promise<string> {
  const reference = `${source.repository}:${parseImage(image).tag}`
  const { Descriptor } = await distributionAt({ docker, settings }, { reference, source }, signal)
  if (Descriptor?.digest) return Descriptor.digest
  throw problem('PULL_FAILED', `Cannot resolve ${reference}: the engine returned no digest`)
}

type Place = Readonly<{ reference: string; source: PullSource }>

/** Digest and platforms that a registry has under a tag. Throws IMAGE_NOT_FOUND, REGISTRY_UNAVAILABLE, PULL_FAILED. */
export async function distributionAt(
  { docker, settings }: Readonly<{ docker: Docker; settings: DockerSettings }>,
  { reference, source }: Place,
  signal?: AbortSignal,
): Promise<Distribution> {
  signal?.throwIfAborted()
  try {
    return await distribution(docker, reference, { authconfig: await authFor(settings, source), abortSignal: signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw registryProblem(error, `Cannot resolve ${reference}`)
  }
}

type DistributionOptions = Readonly<{ authconfig: AuthConfig | undefined; abortSignal: AbortSignal | undefined }>
type Distribution = Readonly<{
  Descriptor?: Readonly<{ digest?: string }>
  Platforms?: readonly Readonly<{ os: string; architecture: string }>[] | null
}>

/** The client's own method cannot be aborted, and a silent registry would block it for a minute. */
const distribution = (docker: Docker, reference: string, options: DistributionOptions) =>
  new Promise<Distribution>((resolve, reject) => {
    const call = { path: `/distribution/${reference}/json`, method: 'GET', statusCodes: { 200: true }, ...options }
    docker.modem.dial(call, (error: unknown, body: unknown) => (error ? reject(error) : resolve(body as Distribution)))
  })
