import { plural } from '../kit/index.ts'
import { isOlder } from './drift.ts'
import { type ChatEvidence, type DatabaseEvidence, type ImportEvidence, isFound, type MediaEvidence } from './import-evidence.ts'
import { consequenceOf, type DropGroup } from './import-groups.ts'
import { type EffectiveSetting, effectiveSettings, type NoEffect, originText } from './import-settings.ts'

// The evidence against an import, beside the settings: each with its place and a fix.

/** Not carried over, with what that means for people; accepted by its name. */
export type Dropped = Readonly<{ name: string; origins: readonly string[]; consequence: string }>

/** Features that show in the data, whatever the settings say. */
export function droppedData({ chat, database, media, otherContainers }: ImportEvidence): Dropped[] {
  const group = (name: DropGroup, origin: string): Dropped => ({ name, origins: [origin], consequence: consequenceOf(name) })
  return [
    ...(isFound(chat) ? workersOf(chat).map((origin) => group('workers', origin)) : []),
    ...(isFound(database) ? droppedOfDatabase(database) : []),
    ...(isFound(media) ? droppedMedia(media) : []),
    ...otherContainers.map((container) => ({
      name: container,
      origins: ['a container of the stack'],
      consequence: 'it is not part of the box; it stays as it is',
    })),
  ]
}

/** Worker processes, in the container of the chat server or in others. */
export const workersOf = ({ apps, workers }: ChatEvidence): string[] => [
  ...apps.filter((app) => app !== 'synapse.app.homeserver').map((app) => `a process ${app}`),
  ...workers.map((name) => `container ${name}`),
]

/** The application service of the platform, in every box. */
const platformService = 'tenantry'

function droppedOfDatabase({ name, remoteMembers, otherClients, otherSchemas, extensions, ...database }: DatabaseEvidence): Dropped[] {
  const appservices = database.appservices.filter((id) => id !== platformService)
  return [
    ...(remoteMembers > 0
      ? [
          {
            name: 'federation',
            origins: [`${plural(remoteMembers, 'member')} from other servers`],
            consequence: consequenceOf('federation'),
          },
        ]
      : []),
    ...(appservices.length > 0
      ? [{ name: 'bridges', origins: [`accounts of ${appservices.join(', ')}`], consequence: consequenceOf('bridges') }]
      : []),
    ...(otherClients.length > 0
      ? [
          {
            name: 'other-clients',
            origins: [`${otherClients.join(', ')} connected to database ${name}`],
            consequence: 'these programs stay connected to the old database, and what they write there is not in the box',
          },
        ]
      : []),
    ...(otherSchemas.length > 0
      ? [{ name: 'other-schemas', origins: [otherSchemas.join(', ')], consequence: 'tables outside the schema public are not imported' }]
      : []),
    ...(extensions.length > 0
      ? [
          {
            name: 'extensions',
            origins: [`${extensions.join(', ')} in database ${name}`],
            consequence: 'these extensions of PostgreSQL are not in the box; the chat server uses none of them',
          },
        ]
      : []),
  ]
}

/** Dumps leave extensions out by a name since PostgreSQL 14. */
const minExtensionMajor = 14

const shownNames = 5

function droppedMedia({ missing, damaged, checked, named }: MediaEvidence): Dropped[] {
  const bad = [...missing, ...damaged]
  if (bad.length === 0) return []
  const more = bad.length > shownNames ? ` and ${bad.length - shownNames} more` : ''
  const share = checked < named ? ` in a sample of ${checked} of ${named}` : ''
  return [
    {
      name: 'missing-media',
      origins: [`${bad.slice(0, shownNames).join(', ')}${more}${share}`],
      consequence:
        'the database names these files, and they are missing or incomplete: people see a broken picture or file, as they do now',
    },
  ]
}

export const usesSqlite = (settings: readonly EffectiveSetting[]): boolean =>
  settings.some(({ key, value }) => key === 'database' && (value as { name?: unknown } | null)?.name === 'sqlite3')

/** An entrypoint may write the files first, in the process that then becomes the chat server. */
const entrypointMs = 60_000

export function chatBlockers(chat: ChatEvidence, target: string): string[] {
  const { version, config, startedAt, clientApiAnswers } = chat
  const changed = config.filter(({ changedAt }) => Date.parse(changedAt) > Date.parse(startedAt) + entrypointMs)
  return [
    ...(clientApiAnswers ? [] : [`The chat server in ${chat.container} does not answer. fix: repair it, then plan again`]),
    ...changed.map(
      ({ path }) =>
        `${path} was changed after the chat server started, so it may run with other settings. fix: restart the chat server, or undo the change`,
    ),
    ...(usesSqlite([...effectiveSettings(config).values()])
      ? ['The chat server uses SQLite. fix: port it to PostgreSQL with synapse_port_db first']
      : []),
    ...(chat.signingKeyId === null
      ? [
          'The file that the configuration names does not have the signing key that the chat server uses. fix: set signing_key_path to the file in use, and restart the chat server',
        ]
      : []),
    ...(version === null ? ['The version of the chat server is unknown. fix: run an official image'] : []),
    ...(version !== null && isOlder('synapse', target, version)
      ? [
          `The stack runs Synapse ${version}; the manifest has ${target} for this box, and the data cannot go back. fix: apply a newer manifest`,
        ]
      : []),
  ]
}

const listed = (names: readonly string[]): string => names.slice(0, shownNames).join(', ')

export function databaseBlockers(database: DatabaseEvidence, target: string): string[] {
  const { container, name, encoding, missingTables, schemaVersion, version, superuser, unreadable, extensions, extensionUses } = database
  const major = (of: string) => Number.parseInt(of, 10)
  return [
    ...(missingTables.length > 0 || (schemaVersion === null && unreadable.length === 0)
      ? [`Database ${name} in ${container} is not one of Synapse: ${missingTables.join(', ') || 'schema_version'} is missing`]
      : []),
    ...(encoding === 'UTF8'
      ? []
      : [`Database ${name} has the encoding ${encoding}; a box needs UTF8. fix: reload it into a UTF8 database`]),
    ...(unreadable.length > 0
      ? [
          `The role ${superuser} of PostgreSQL in ${container} may not read ${listed(unreadable)}, so it cannot back them up. fix: docker exec ${container} psql -U <a superuser> -c 'grant pg_read_all_data to "${superuser}"'`,
        ]
      : []),
    ...extensionUses.map(
      (use) => `${use}. A box has no extension but plpgsql. fix: drop that object, which is not one of Synapse, then plan again`,
    ),
    ...(extensions.length > 0 && major(version) < minExtensionMajor
      ? [
          `PostgreSQL ${version} cannot leave out extensions (${listed(extensions)}). fix: drop them, or update the stack to PostgreSQL ${minExtensionMajor} first`,
        ]
      : []),
    ...(major(version) > major(target)
      ? [`The stack runs PostgreSQL ${version}; the manifest has ${target}, which does not load its dump. fix: apply a newer manifest`]
      : []),
  ]
}

export const serverNameIn = (settings: readonly EffectiveSetting[]): string | null => {
  const value = settings.find(({ key }) => key === 'server_name')?.value
  return typeof value === 'string' ? value : null
}

/** The configuration, the key API, the accounts and the registered domain must agree. */
export function nameBlockers({ chat, database }: ImportEvidence, settings: readonly EffectiveSetting[], chatDomain: string): string[] {
  if (!isFound(chat)) return []
  const named = serverNameIn(settings)
  const said = [
    ...(chat.keyApiName === null ? [] : [{ by: 'its key API', name: chat.keyApiName }]),
    ...(isFound(database) ? database.accountDomains.map((name) => ({ by: 'accounts in its database', name })) : []),
  ].filter(({ name }) => name !== named)
  return [
    ...(named === null ? ['No configuration file of the chat server has a server_name'] : []),
    ...(named === null ? [] : said.map(({ by, name }) => `The chat server is ${named} by its configuration, but ${name} by ${by}`)),
    ...(named !== null && named !== chatDomain
      ? [`The chat server is ${named}, but the box is registered for ${chatDomain}. fix: adopt the stack with --domain ${named}`]
      : []),
  ]
}

/** Images from PostgreSQL 18 store their data below another folder than the ones before: a volume at the former place stays empty. */
function dataWarnings({ container, dataFolder, dataMount }: DatabaseEvidence): string[] {
  if (dataFolder === null || dataMount === 'named') return []
  const where = dataMount === 'anonymous' ? 'an anonymous volume' : 'no volume'
  return [
    `The data of PostgreSQL (${dataFolder} of ${container}) are in ${where}. They are imported; until the import is finished, docker compose down in the stack would lose them as the return path`,
  ]
}

const noEffects: Readonly<Record<NoEffect, (settings: string) => string>> = {
  unread: (settings) => `The chat server does not know ${settings}: without effect in the stack, and left out of the box`,
  local: (settings) =>
    `No member of another server is in a room here, so users lose no room when federation ends: ${settings}. Later, no user of another server can join`,
  alone: (settings) => `No worker runs, so settings of workers are left out without an effect: ${settings}`,
}

const settingsPerWarning = 6

/** Settings that are left out and need no decision. */
export function unusedWarnings(unused: readonly Readonly<{ why: NoEffect; setting: EffectiveSetting }>[]): string[] {
  return (Object.keys(noEffects) as NoEffect[]).flatMap((why) => {
    const named = unused.filter((one) => one.why === why).map(({ setting }) => `${setting.key} in ${originText(setting)}`)
    const parts = Array.from({ length: Math.ceil(named.length / settingsPerWarning) }, (_, at) =>
      named.slice(at * settingsPerWarning, (at + 1) * settingsPerWarning),
    )
    return parts.map((part) => noEffects[why](part.join(', ')))
  })
}

export function warningsOf({ chat, database, addresses }: ImportEvidence, settings: readonly EffectiveSetting[]): string[] {
  const ignored = isFound(chat) ? chat.config.filter(({ problem }) => problem !== null) : []
  return [
    ...ignored.map(({ path, problem }) => `${path} has no effect: ${problem}`),
    ...settings.flatMap((setting) =>
      setting.overrides.map((former) => `${setting.key} in ${originText(former)} has no effect: ${originText(setting)} replaces it`),
    ),
    ...(isFound(database) && database.backgroundUpdates.length > 0
      ? [`${plural(database.backgroundUpdates.length, 'background update')} of the database will continue in the box`]
      : []),
    ...(isFound(database) ? dataWarnings(database) : []),
    ...(isFound(database) && database.otherDatabases.length > 0
      ? [
          `PostgreSQL in ${database.container} also has the databases ${listed(database.otherDatabases)}: they are not imported, and it continues to run`,
        ]
      : []),
    ...(isFound(chat) && chat.otherSigningKeyIds.length > 0
      ? [
          `The box signs with ${chat.signingKeyId}, as the stack does; ${listed(chat.otherSigningKeyIds)} of its key file become old_signing_keys`,
        ]
      : []),
    ...(isFound(chat) && addresses.length === 0
      ? ['No published port of the stack answers as the chat server over plain HTTP: after the import, point the reverse proxy to the box']
      : []),
    ...(isFound(chat) && chat.keyApiName === null
      ? ['The chat server does not offer its key API; its name is from its configuration and accounts']
      : []),
  ]
}
