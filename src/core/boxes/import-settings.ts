import type { ChatConfigFile } from './import-evidence.ts'
import { consequenceOf, type DropGroup, groupOf, isNothing, isOff, isSwitchedOff } from './import-groups.ts'
import { isRecord, shown } from './plain-data.ts'
import { portableHomeserver } from './portable-homeserver.ts'
import { partOf } from './portable-parts.ts'

// The treatment of each setting of a foreign chat server when its box is made from the box template: carried over, set by the template, left out
// with a consequence that a person has to accept, or a reason against the import.

/** `file:line` of a setting. */
export type SettingOrigin = Readonly<{ key: string; file: string; line: number }>
export type EffectiveSetting = SettingOrigin & Readonly<{ value: unknown; overrides: readonly SettingOrigin[] }>

/** As Synapse merges its files: a later file replaces a key of the top level as a whole. */
export function effectiveSettings(files: readonly ChatConfigFile[]): ReadonlyMap<string, EffectiveSetting> {
  const merged = new Map<string, EffectiveSetting>()
  for (const { path, problem, settings } of files) {
    if (problem !== null) continue
    for (const [key, { line, value }] of Object.entries(settings)) {
      const former = merged.get(key)
      // Start scripts may name one file twice.
      if (former?.file === path) continue
      const overrides = former ? [...former.overrides, { key, file: former.file, line: former.line }] : []
      merged.set(key, { key, file: path, line, value, overrides })
    }
  }
  return merged
}

export const originText = ({ file, line }: Pick<SettingOrigin, 'file' | 'line'>): string => `${file}:${line}`

/** Secrets of which the box gets the same value, so that what was made with them stays valid. */
const secretKeys = ['macaroon_secret_key', 'form_secret', 'registration_shared_secret', 'turn_shared_secret']
const isSecret = (key: string): boolean => key === 'signing_key' || secretKeys.includes(key.replace(/_path$/, ''))

/** Facts of the stack that decide about a setting. */
export type SettingContext = Readonly<{
  /** Value of a setting in force. */
  valueOf(key: string): unknown
  /** Settings that the code of the running chat server never names. */
  unread: readonly string[]
  hasRemoteMembers: boolean
  hasWorkers: boolean
}>

/** Why a setting without a place in the box changes nothing. */
export type NoEffect = 'unread' | 'local' | 'alone'

type Treatment =
  | Readonly<{ as: 'secret' | 'setting' | 'template' }>
  | Readonly<{ as: 'dropped'; name: string; consequence: string }>
  | Readonly<{ as: 'unused'; why: NoEffect }>
  | Readonly<{ as: 'blocker'; reason: string }>

/** One setting may have several treatments: a listener also serves other servers. */
export function treatmentOf({ key, value }: Pick<EffectiveSetting, 'key' | 'value'>, context: SettingContext): readonly Treatment[] {
  // Compared with the box's own name.
  if (key === 'server_name') return []
  if (isSecret(key)) return value === null ? [] : [{ as: 'secret' }]
  const blocker = blockerOf(key, value)
  if (blocker !== undefined) return [{ as: 'blocker', reason: blocker }]
  if (key === 'listeners') return [{ as: 'template' }, ...listenerGroups(value).map((name) => groupTreatment(name, context))]
  if (key === 'app_service_config_files' && isPlatformAlone(value)) return [{ as: 'template' }]
  const group = groupOf(key)
  if (group !== undefined) return isOff(key, value) || isSwitchedOff(key, context.valueOf) ? [] : [groupTreatment(group, context)]
  const { settings, maxUploadMegabytes, findings } = portableHomeserver({ [key]: value })
  if (findings.length > 0 && !isNothing(value)) return leftOut({ key, value }, context)
  return [{ as: Object.hasOwn(settings, key) || maxUploadMegabytes !== undefined ? 'setting' : 'template' }]
}

/** The end of a feature that is not in use changes nothing for users. */
function groupTreatment(name: DropGroup, { hasRemoteMembers, hasWorkers }: SettingContext): Treatment {
  if (name === 'federation' && !hasRemoteMembers) return { as: 'unused', why: 'local' }
  if (name === 'workers' && !hasWorkers) return { as: 'unused', why: 'alone' }
  return { as: 'dropped', name, consequence: consequenceOf(name) }
}

/** The registration of the platform, in a box that an earlier version completed in place. */
const isPlatformAlone = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((path) => String(path).endsWith('/tenantry-appservice.yaml'))

/** Names of keys to accept, where the feature has a better one. */
const featureOf: Readonly<Record<string, string>> = { email: 'mail', experimental_features: 'experiments' }

/** A key of which a part is data keeps that part. */
function leftOut({ key, value }: Pick<EffectiveSetting, 'key' | 'value'>, { unread }: SettingContext): Treatment[] {
  const part = partOf(key, value)
  const name = featureOf[key] ?? shown(key)
  if (part && part.value !== undefined)
    return [
      { as: 'setting' },
      { as: 'dropped', name, consequence: `of this setting ${part.left.slice(0, 10).join(', ')} is not carried over` },
    ]
  if (key === 'email') return [{ as: 'dropped', name, consequence: consequenceOf('mail') }]
  if (unread.includes(key)) return [{ as: 'unused', why: 'unread' }]
  return [{ as: 'dropped', name, consequence: 'the chat server runs with its default for this setting' }]
}

function blockerOf(key: string, value: unknown): string | undefined {
  if (!isRecord(value)) return undefined
  if (key === 'password_config' && (value.enabled === false || value.localdb_enabled === false))
    return 'logins with a password are off, and the platform logs users in with one. fix: set password_config.enabled and localdb_enabled to true and restart the chat server'
  if (key === 'matrix_authentication_service' && value.enabled === true) return delegated
  if (key === 'experimental_features' && isRecord(value.msc3861) && value.msc3861.enabled === true) return delegated
  return undefined
}

const delegated =
  'accounts and logins are in another service (delegated authentication), which an import does not reach. fix: return the accounts to the chat server first'

function listenerGroups(value: unknown): DropGroup[] {
  const listeners = (Array.isArray(value) ? value : []).filter(isRecord)
  const names = listeners.flatMap(({ resources }) =>
    (Array.isArray(resources) ? resources : []).flatMap((one) => (isRecord(one) && Array.isArray(one.names) ? one.names.map(String) : [])),
  )
  const found = new Set<DropGroup>()
  if (names.includes('federation')) found.add('federation')
  if (names.includes('metrics') || listeners.some(({ type }) => type === 'metrics' || type === 'manhole')) found.add('metrics')
  if (names.includes('replication')) found.add('workers')
  return [...found]
}
