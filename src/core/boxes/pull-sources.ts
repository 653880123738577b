import { isProblem, problem } from '../kit/index.ts'
import type { CommandSecrets } from './command-secrets.ts'
import { parseImage, registryOf } from './images.ts'

/** A repository to pull from, and the account for it; never written to disk. */
export type PullSource = Readonly<{ repository: string; account?: RegistryAccount | undefined }>

type RegistryAccount = Readonly<{ registry: string; username: string; password: string }>

type Registries = NonNullable<CommandSecrets['registries']>

/** The registry of a repository, and its mirror, which is tried first. An account is never sent to another registry. */
export function pullSources(repository: string, registries: Registries = {}): Readonly<{ mirror?: PullSource; origin: PullSource }> {
  const { registry, path } = registryOf(repository)
  const origin = { repository, account: accountAt(registry, registries) }
  const mirror = Object.hasOwn(registries, registry) ? registries[registry]?.mirror : undefined
  if (mirror === undefined) return { origin }
  return { mirror: { repository: `${mirror}/${path}`, account: accountAt(mirror.split('/')[0] ?? '', registries) }, origin }
}

function accountAt(registry: string, registries: Registries): RegistryAccount | undefined {
  const { username, password } = (Object.hasOwn(registries, registry) && registries[registry]) || {}
  return username === undefined || password === undefined ? undefined : { registry, username, password }
}

type From = Readonly<{ registries?: CommandSecrets['registries']; signal?: AbortSignal }>

/** Tries the mirror of an image first, then the registry itself. When both fail, the error has both reasons. */
export async function pullFromSources<Answer>(
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
      throw isProblem(second)
        ? problem(second.code, `${second.message}; its mirror failed too: ${error.message}`, { cause: second })
        : second
    })
  }
}

/** The mirror does not answer, lacks the image, or has another one under the tag. */
const lacking: readonly string[] = ['IMAGE_NOT_FOUND', 'PULL_FAILED', 'REGISTRY_UNAVAILABLE', 'DIGEST_MISMATCH']
