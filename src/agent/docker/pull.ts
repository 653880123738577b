import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseImage } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import type { Connections, Docker, DockerSettings } from './connect.ts'
import { engineProblem, hasStatus, saidProblem } from './engine-problem.ts'
import { type PullLine, pullProgress } from './pull-progress.ts'

type PullOptions = Parameters<ContainerEngine['pull']>[1]

/**
 * Pulls a tag, or exactly a digest and then names it by the tag: with `tag@digest` Docker would ignore the tag.
 * Answers the registry digest of what is now behind the tag.
 */
export async function pull(
  { questions, pulls }: Connections,
  settings: DockerSettings,
  image: string,
  options: PullOptions,
): Promise<string> {
  const { digest, signal } = options
  signal?.throwIfAborted()
  const { repository, tag } = parseImage(image)
  const reference = digest === undefined ? image : `${repository}@${digest}`
  const told = await transfer(pulls, settings, reference, options)
  if (digest !== undefined) await questions.getImage(reference).tag({ repo: repository, tag })
  const local = await localDigests(questions, image)
  const offered = digest ?? told
  if (offered !== undefined && local?.includes(offered)) return offered
  throw problem(
    'DIGEST_MISMATCH',
    `${image} is not what was pulled: expected ${offered ?? 'a digest'}, found ${local?.join(', ') || 'none'}`,
  )
}

async function transfer(
  docker: Docker,
  settings: DockerSettings,
  reference: string,
  { onProgress, signal }: PullOptions,
): Promise<string | undefined> {
  const progress = pullProgress()
  const what = `${reference} cannot be pulled`
  try {
    const authconfig = await credentialsFor(settings, reference)
    const stream = (await docker.pull(reference, { abortSignal: signal, authconfig })) as NodeJS.ReadableStream & { destroy(): void }
    const stop = () => stream.destroy()
    signal?.addEventListener('abort', stop, { once: true })
    try {
      for await (const line of jsonLines(stream)) {
        if (line.error) throw saidProblem(line.error, what, 'PULL_FAILED')
        const now = progress.take(line)
        if (now) onProgress?.(now)
      }
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw engineProblem(error, what, 'PULL_FAILED')
  }
  signal?.throwIfAborted()
  return progress.digest()
}

async function* jsonLines(stream: NodeJS.ReadableStream): AsyncGenerator<PullLine> {
  let left = ''
  for await (const chunk of stream) {
    const lines = (left + chunk.toString()).split('\n')
    left = lines.pop() ?? ''
    for (const line of lines) if (line.trim()) yield JSON.parse(line) as PullLine
  }
  if (left.trim()) yield JSON.parse(left) as PullLine
}

/** Registry digests of a local image within its repository; undefined when the image is not here. */
export async function localDigests(docker: Docker, image: string): Promise<readonly string[] | undefined> {
  try {
    const { RepoDigests = [] } = await docker.getImage(image).inspect()
    return digestsIn(RepoDigests, parseImage(image).repository)
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw engineProblem(error, `looking at ${image}`, 'DOCKER_UNAVAILABLE')
  }
}

export const digestsIn = (repoDigests: readonly string[] | null | undefined, repository: string): string[] =>
  (repoDigests ?? []).filter((digest) => digest.startsWith(`${repository}@`)).map((digest) => digest.slice(repository.length + 1))

/** What `docker login` left for the registry. The API takes it with each pull; the engine has none of its own. */
async function credentialsFor(
  { dockerConfig }: DockerSettings,
  reference: string,
): Promise<{ username: string; password: string; serveraddress: string } | undefined> {
  if (dockerConfig === undefined) return undefined
  const text = await readFile(join(dockerConfig, 'config.json'), 'utf8').catch(() => '{}')
  const { auths = {} } = JSON.parse(text) as { auths?: Record<string, { auth?: string }> }
  const first = reference.split('/')[0] ?? ''
  const serveraddress = /[.:]|^localhost$/.test(first) ? first : 'https://index.docker.io/v1/'
  const [username, ...password] = Buffer.from(auths[serveraddress]?.auth ?? '', 'base64')
    .toString('utf8')
    .split(':')
  return username ? { username, password: password.join(':'), serveraddress } : undefined
}
