import { stringify } from 'yaml'
import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { type Config, redactedChannel } from '../config/index.ts'
import { assertStartable } from '../start-conditions.ts'
import { settingsOf } from './installation.ts'

/** Prints the effective settings without secrets. Throws what `serve` would throw for them. */
export async function checkConfig(machine: Machine, options: Globals): Promise<undefined> {
  const config = settingsOf(machine, options)
  await assertStartable(config)
  const shown = redacted(config)
  print(machine, options, { result: shown, words: stringify(shown).trimEnd() })
  return undefined
}

const hidden = '[secret]'

function redacted(config: Config): Record<string, unknown> {
  const { secretKey, backupKey, recoveryKey, snapshotStoreCredentials: credentials, snapshotUpkeep: upkeep, ...rest } = config
  const { mail, alerts, objectStoreCredentials: objects } = config
  return {
    ...rest,
    ...(mail.smtp === undefined ? {} : { mail: { ...mail, smtp: withoutPassword(mail.smtp) } }),
    alerts: {
      ...alerts,
      ...(alerts.webhook ? { webhook: { url: `${new URL(alerts.webhook.url).origin}/…`, secret: hidden } } : {}),
      channels: alerts.channels.map((channel) => redactedChannel(channel, hidden)),
    },
    ...(config.database === undefined ? {} : { database: withoutPassword(config.database) }),
    ...(config.redis === undefined ? {} : { redis: withoutPassword(config.redis) }),
    databaseUrl: withoutPassword(config.databaseUrl),
    ...(secretKey ? { secretKey: secretKey.map(() => hidden) } : {}),
    ...(backupKey ? { backupKey: hidden } : {}),
    ...(recoveryKey ? { recoveryKey: hidden } : {}),
    ...(credentials ? { snapshotStoreCredentials: { ...credentials, secretAccessKey: hidden } } : {}),
    ...(objects ? { objectStoreCredentials: { ...objects, secretAccessKey: hidden } } : {}),
    ...(upkeep ? { snapshotUpkeep: { ...upkeep, secretAccessKey: hidden } } : {}),
  }
}

/** Redacts the password in the authority or the query of a URL. */
const withoutPassword = (url: string) =>
  url.replace(/^(\w+:\/\/[^/?#]*?:)[^/?#]*@/, `$1${hidden}@`).replace(/([?&]password=)[^&]*/gi, `$1${hidden}`)
