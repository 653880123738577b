import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type PullSource, registryOf } from '../../core/boxes/index.ts'
import type { DockerSettings } from './connect.ts'

export type AuthConfig = Readonly<{ username: string; password: string; serveraddress: string }>

/** As whom the engine asks: the account of the source, else what `docker login` left. The API takes it each time; the engine has none of its own. */
export async function authFor(settings: DockerSettings, { repository, account }: PullSource): Promise<AuthConfig | undefined> {
  if (!account) return credentialsFor(settings, repository)
  return { username: account.username, password: account.password, serveraddress: serverOf(account.registry) }
}

/** How the engine's API calls a registry. */
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
