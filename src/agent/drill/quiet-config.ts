import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseDocument } from 'yaml'
import { problem, type Random, type Secret, secret } from '../../core/kit/index.ts'

const configFile = (boxFolder: string): string => join(boxFolder, 'synapse', 'homeserver.yaml')

/** The chat server of a copy speaks to nobody: no push, no application service, no other server, no mail. */
const quiet = {
  app_service_config_files: [],
  start_pushers: false,
  send_federation: false,
  federation_domain_whitelist: [],
  trusted_key_servers: [],
  report_stats: false,
  url_preview_enabled: false,
  enable_registration: false,
} as const

/**
 * Makes the copy's config quiet, and gives it a registration secret of its own, by which a throw-away account is made. Written in place: the
 * file belongs to the chat server's user. Throws COMPOSE_INVALID where there is none.
 */
export async function makeConfigQuiet(boxFolder: string, random: Random): Promise<void> {
  const path = configFile(boxFolder)
  const document = parseDocument(await readConfig(path))
  for (const [key, value] of Object.entries(quiet)) document.set(key, document.createNode(value))
  for (const key of ['email', 'registration_shared_secret_path']) document.delete(key)
  document.set('registration_shared_secret', Buffer.from(random.bytes(32)).toString('hex'))
  await writeFile(path, document.toString())
}

export async function registrationSecretOf(boxFolder: string): Promise<Secret> {
  const found = parseDocument(await readConfig(configFile(boxFolder))).get('registration_shared_secret')
  if (typeof found !== 'string') throw problem('INTERNAL', `the config of the drill in ${boxFolder} has no registration secret`)
  return secret(found)
}

const readConfig = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause) => {
    throw problem('COMPOSE_INVALID', 'the snapshot has no synapse/homeserver.yaml, so its chat server cannot be made to keep quiet', {
      cause,
    })
  })
