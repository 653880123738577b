import type { CommandSecrets } from './commands.ts'
import { registryOf } from './images.ts'

/** A repository to pull from, and as whom; the account is for memory only. */
export type PullSource = Readonly<{ repository: string; account?: RegistryAccount | undefined }>
type RegistryAccount = Readonly<{ registry: string; username: string; password: string }>

type Registries = NonNullable<CommandSecrets['registries']>

/** Where a repository is found: in its own registry, and first in that one's mirror. No account is ever shown to another registry. */
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
