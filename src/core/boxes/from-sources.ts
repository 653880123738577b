import { isProblem, problem } from '../kit/index.ts'
import type { CommandSecrets } from './commands.ts'
import { parseImage } from './images.ts'
import { type PullSource, pullSources } from './pull-sources.ts'

type From = Readonly<{ registries?: CommandSecrets['registries']; signal?: AbortSignal }>

/** Asks the mirror of an image first, where there is one, and the registry itself if that one has it not. Both reasons are told when both fail. */
export async function fromSources<Answer>(
  image: string,
  { registries, signal }: From,
  ask: (source: PullSource) => Promise<Answer>,
): Promise<Answer> {
  const { mirror, origin } = pullSources(parseImage(image).repository, registries)
  if (!mirror) return ask(origin)
  try {
    return await ask(mirror)
  } catch (error) {
    signal?.throwIfAborted()
    if (!isProblem(error) || !lacking.includes(error.code)) throw error
    return ask(origin).catch((second) => {
      throw isProblem(second) ? problem(second.code, `${second.message}; and from its mirror: ${error.message}`, { cause: second }) : second
    })
  }
}

/** The mirror does not answer, does not have it, or has something else. */
const lacking: readonly string[] = ['PULL_FAILED', 'REGISTRY_UNAVAILABLE', 'DIGEST_MISMATCH']
