import type { Setting } from '../../core/service/index.ts'
import { redactedChannel } from './alert-channels.ts'
import { type Config, variableNames } from './load.ts'

const hidden = '[secret]'

/** The effective settings, with `[secret]` for every secret. */
export function redactedSettings(config: Config): Record<string, unknown> {
  const { origins: _, secretKey, backupKey, recoveryKey, snapshotStoreCredentials: credentials, snapshotUpkeep: upkeep, ...rest } = config
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

/** Every setting by its key, as text, with its origin. A secret that is set reads `[secret]`; one that is not has no value. */
export function listSettings(config: Config): Setting[] {
  const shown: unknown = JSON.parse(JSON.stringify({ ...redactedSettings(config), ...effective(config) }))
  return [...variableNames()].map(([variable, path]) => {
    const key = path.join('.')
    return { key, variable, value: textOf(path.reduce(inner, shown)), origin: config.origins[key] ?? 'default' }
  })
}

/** Settings whose default follows from others. */
const effective = (config: Config) => ({
  database: withoutPassword(config.databaseUrl),
  publicUrl: withoutPassword(config.baseUrl),
  admin: { requireTotp: config.totpRequired },
  ...(config.approvalTokenSha256 === undefined ? {} : { approvalTokenSha256: hidden }),
})

const inner = (value: unknown, key: string): unknown => (value as Record<string, unknown> | null | undefined)?.[key]

const textOf = (value: unknown): string | null => {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? withoutPassword(value) : JSON.stringify(value)
}
