import { type PullSource, parseImage, pullFromSources } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { PullOptions, PullProgress } from '../ports/index.ts'
import type { Connections, Docker, DockerSettings } from './connect.ts'
import { engineProblem, hasStatus, saidProblem } from './engine-problem.ts'
import { authFor } from './registry.ts'

/**
 * Pulls a tag, or exactly a digest and then names it by the tag: with `tag@digest` Docker would ignore the tag. A mirror is asked first; what
 * came from there bears the name that was asked for. Answers the registry digest of what is now behind the tag.
 */
export async function pull(connections: Connections, settings: DockerSettings, image: string, options: PullOptions): Promise<string> {
  options.signal?.throwIfAborted()
  return pullFromSources(image, options, (source) => pullFrom(connections, settings, image, source, options))
}

async function pullFrom(
  { questions, pulls }: Connections,
  settings: DockerSettings,
  image: string,
  source: PullSource,
  options: PullOptions,
): Promise<string> {
  const { digest } = options
  const { repository, tag } = parseImage(image)
  const reference = digest === undefined ? `${source.repository}:${tag}` : `${source.repository}@${digest}`
  const told = await transfer(pulls, settings, reference, source, options)
  // Also where it bears the name already: only a name that is given makes the engine note when.
  await questions.getImage(reference).tag({ repo: repository, tag })
  const local = await allDigests(questions, image)
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
  source: PullSource,
  { onProgress, signal }: PullOptions,
): Promise<string | undefined> {
  const progress = pullProgress()
  const what = `${reference} cannot be pulled`
  try {
    const authconfig = await authFor(settings, source)
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

/** Registry digests of a local image; undefined when the image is not here. */
export async function localDigests(docker: Docker, image: string): Promise<readonly string[] | undefined> {
  const known = await repoDigests(docker, image)
  return known && digestsIn(known, parseImage(image).repository)
}

const allDigests = async (docker: Docker, image: string): Promise<readonly string[] | undefined> =>
  (await repoDigests(docker, image))?.map((digest) => digest.slice(digest.lastIndexOf('@') + 1))

async function repoDigests(docker: Docker, image: string): Promise<readonly string[] | undefined> {
  try {
    return (await docker.getImage(image).inspect()).RepoDigests ?? []
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw engineProblem(error, `looking at ${image}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Those of the repository itself; else those under which a mirror gave it: a digest names the content, wherever it came from. */
export function digestsIn(repoDigests: readonly string[] | null | undefined, repository: string): string[] {
  const all = (repoDigests ?? []).map((digest) => [digest.slice(0, digest.lastIndexOf('@')), digest.slice(digest.lastIndexOf('@') + 1)])
  const own = all.filter(([from]) => from === repository)
  return (own.length > 0 ? own : all).map(([, digest]) => digest as string)
}

/** One line of the engine's report of a pull. */
type PullLine = Readonly<{
  status?: string
  id?: string
  error?: string
  progressDetail?: Readonly<{ current?: number; total?: number }>
}>

/** Downloading is most of the time of a layer, unpacking the rest. */
const downloadShare = 0.7

/** Makes one percentage of the layers' own; it never goes back. */
export function pullProgress() {
  const layers = new Map<string, number>()
  let digest: string | undefined
  let highest = 0
  const take = (line: PullLine): PullProgress | undefined => {
    digest = /^Digest: (sha256:[0-9a-f]{64})/.exec(line.status ?? '')?.[1] ?? digest
    if (line.id === undefined || !/^[0-9a-f]{12}$/.test(line.id)) return undefined
    layers.set(line.id, Math.max(layers.get(line.id) ?? 0, shareOf(line)))
    const done = [...layers.values()].filter((share) => share === 1).length
    const percent = Math.round((100 * [...layers.values()].reduce((sum, share) => sum + share, 0)) / layers.size)
    if (percent <= highest) return undefined
    highest = percent
    return { percent, detail: `${done} of ${layers.size} layers` }
  }
  return { take, digest: () => digest }
}

function shareOf({ status = '', progressDetail }: PullLine): number {
  const part = progressDetail?.total ? (progressDetail.current ?? 0) / progressDetail.total : 0
  if (/^(Pull complete|Already exists)/.test(status)) return 1
  if (/^Extracting/.test(status)) return downloadShare + (1 - downloadShare) * Math.min(part, 0.99)
  if (/^(Download complete|Verifying)/.test(status)) return downloadShare
  return /^Downloading/.test(status) ? downloadShare * part : 0
}
