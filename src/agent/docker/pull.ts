import { type PullSource, parseImage, pullFromSources } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { PullOptions, PullProgress } from '../ports/index.ts'
import type { Connections, Docker, DockerSettings } from './connect.ts'
import { engineProblem, hasStatus, outputProblem } from './engine-problem.ts'
import { authFor } from './registry.ts'

/**
 * Pulls a tag, or a digest that is then tagged, because Docker ignores the tag of `tag@digest`. Tries mirrors first. Returns the registry
 * digest of the tag.
 */
export async function pull(
  { connections, settings }: Readonly<{ connections: Connections; settings: DockerSettings }>,
  image: string,
  options: PullOptions,
): Promise<string> {
  options.signal?.throwIfAborted()
  return pullFromSources(image, options, (source) => pullFrom(connections, settings, { image, source, options }))
}

async function pullFrom(
  { questions, pulls }: Connections,
  settings: DockerSettings,
  { image, source, options }: Readonly<{ image: string; source: PullSource; options: PullOptions }>,
): Promise<string> {
  const { digest } = options
  const { repository, tag } = parseImage(image)
  const reference = digest === undefined ? `${source.repository}:${tag}` : `${source.repository}@${digest}`
  const pulled = await transfer({ docker: pulls, settings }, { reference, source }, options)
  // Always tags, because the engine records the time of a tag only then.
  await questions.getImage(reference).tag({ repo: repository, tag })
  const local = await allDigests(questions, image)
  const offered = digest ?? pulled
  if (offered !== undefined && local?.includes(offered)) return offered
  throw problem(
    'DIGEST_MISMATCH',
    `${image} differs from the pulled image: expected ${offered ?? 'a digest'}, found ${local?.join(', ') || 'none'}`,
  )
}

async function transfer(
  { docker, settings }: Readonly<{ docker: Docker; settings: DockerSettings }>,
  { reference, source }: Readonly<{ reference: string; source: PullSource }>,
  { onProgress, signal }: PullOptions,
): Promise<string | undefined> {
  const progress = pullProgress()
  const what = `Cannot pull ${reference}`
  try {
    const authconfig = await authFor(settings, source)
    const stream = (await docker.pull(reference, { abortSignal: signal, authconfig })) as NodeJS.ReadableStream & { destroy(): void }
    const stop = () => stream.destroy()
    signal?.addEventListener('abort', stop, { once: true })
    try {
      for await (const line of jsonLines(stream)) {
        if (line.error) throw outputProblem(line.error, what, 'PULL_FAILED')
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

/** Registry digests of a local image; undefined when it is missing. */
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
    throw engineProblem(error, `Inspecting ${image}`, 'DOCKER_UNAVAILABLE')
  }
}

/** Digests of the repository, else those of a mirror. A digest identifies the content, whatever its source. */
export function digestsIn(repoDigests: readonly string[] | null | undefined, repository: string): string[] {
  const all = (repoDigests ?? []).map((digest) => [digest.slice(0, digest.lastIndexOf('@')), digest.slice(digest.lastIndexOf('@') + 1)])
  const own = all.filter(([from]) => from === repository)
  return (own.length > 0 ? own : all).map(([, digest]) => digest as string)
}

/** One progress line of the engine. */
type PullLine = Readonly<{
  status?: string
  id?: string
  error?: string
  progressDetail?: Readonly<{ current?: number; total?: number }>
}>

/** Estimated share of downloading in the time of a layer. */
const downloadShare = 0.7

/** Combines the progress of all layers into one percentage that never decreases. */
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
