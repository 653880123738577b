import type { ChatConfigFile } from './import-evidence.ts'
import { isRecord, partlyPortable, portableHomeserver, shown } from './portable-homeserver.ts'

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

type Group = Readonly<{
  keys: readonly string[]
  /** Prefixes of further keys. */
  prefixes?: readonly string[]
  consequence: string
}>

/** Features that the box template does not have. `--drop` takes the name. */
const groups = {
  bridges: {
    keys: [
      'app_service_config_files',
      'notify_appservices_from_worker',
      'track_appservice_user_ips',
      'use_appservice_legacy_authorization',
    ],
    consequence: 'bridges and bots stop: their rooms and messages stay, new messages no longer pass',
  },
  federation: {
    keys: [
      ...['allow_public_rooms_over_federation', 'send_federation', 'ip_range_blacklist', 'ip_range_whitelist'],
      ...['allow_device_name_lookup_over_federation', 'serve_server_wellknown', 'allow_profile_lookup_over_federation'],
    ],
    prefixes: ['federation_'],
    consequence: 'users of other servers no longer reach rooms here, and users here no longer reach rooms of other servers',
  },
  mail: {
    keys: ['email', 'start_tls', 'account_threepid_delegates', 'next_link_domain_whitelist', 'account_validity'],
    consequence: 'the chat server sends no mail: no notifications, no confirmation of addresses',
  },
  sso: {
    keys: [
      ...['oidc_providers', 'oidc_config', 'oidc_enabled', 'saml2_config', 'saml2_enabled', 'cas_config', 'sso', 'jwt_config'],
      ...['ui_auth', 'login_via_existing_session'],
    ],
    consequence: 'logins through this provider end: users without a password cannot log in until they get one',
  },
  modules: {
    keys: ['modules', 'password_providers', 'spam_checker', 'third_party_event_rules', 'auto_accept_invites', 'background_updates'],
    consequence: 'its checks and functions end',
  },
  'storage-provider': {
    keys: ['media_storage_providers', 'media_upload_limits', 'remote_media_download_burst_count', 'remote_media_download_per_second'],
    consequence: 'media are stored on the host alone; files that only the provider has are not imported',
  },
  'url-previews': {
    keys: ['oembed', 'max_spider_size'],
    prefixes: ['url_preview_'],
    consequence: 'links are shown without a preview',
  },
  registration: {
    keys: [
      ...['enable_registration', 'enable_registration_without_verification', 'enable_registration_captcha', 'allowed_local_3pids'],
      ...['disable_msisdn_registration', 'enable_3pid_lookup', 'default_identity_server', 'bcrypt_rounds', 'inhibit_user_in_use_error'],
      ...['user_consent', 'registration_requires_token', 'registrations_require_3pid', 'enable_set_email'],
    ],
    prefixes: ['recaptcha_'],
    consequence: 'people cannot create accounts in the chat server: the platform creates them',
  },
  guests: { keys: ['allow_guest_access'], consequence: 'guests without an account cannot read rooms' },
  workers: {
    keys: [
      ...[
        'instance_map',
        'stream_writers',
        'redis',
        'federation_sender_instances',
        'pusher_instances',
        'start_pushers',
        'enable_media_repo',
      ],
      ...['run_background_tasks_on', 'update_user_directory_from_worker', 'media_instance_running_background_jobs'],
      ...['outbound_federation_restricted_to'],
    ],
    prefixes: ['worker_'],
    consequence: 'one process does the work of all workers',
  },
  metrics: {
    keys: ['enable_metrics', 'metrics_flags', 'metrics_port', 'metrics_bind_host', 'sentry', 'opentracing', 'report_stats_endpoint'],
    consequence: 'the metrics of the chat server itself are not offered; Tenantry has its own',
  },
  templates: {
    keys: ['templates', 'custom_template_directory', 'web_client_location', 'extra_well_known_client_content'],
    consequence: 'pages and mails have the standard texts',
  },
  experiments: { keys: ['experimental_features'], consequence: 'experimental functions end' },
} as const satisfies Readonly<Record<string, Group>>

export type DropGroup = keyof typeof groups

export const consequenceOf = (name: DropGroup): string => groups[name].consequence

function groupOf(key: string): DropGroup | undefined {
  return (Object.entries(groups) as [DropGroup, Group][]).find(
    ([, { keys, prefixes = [] }]) => keys.includes(key) || prefixes.some((prefix) => key.startsWith(prefix)),
  )?.[0]
}

/** Keys for which false or nothing is the deviation and true the default. */
const onByDefault = ['start_pushers', 'enable_media_repo', 'send_federation', 'federation_verify_certificates']

const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0)

function isOff(key: string, value: unknown): boolean {
  if (onByDefault.includes(key)) return value === true || value === null
  return value === false || isNothing(value) || (isRecord(value) && value.enabled === false)
}

/** Secrets of which the box gets the same value, so that what was made with them stays valid. */
const secretKeys = ['macaroon_secret_key', 'form_secret', 'registration_shared_secret']
const isSecret = (key: string): boolean => secretKeys.includes(key.replace(/_path$/, ''))

type Treatment =
  | Readonly<{ as: 'secret' | 'setting' | 'template' }>
  | Readonly<{ as: 'dropped'; name: string; consequence: string }>
  | Readonly<{ as: 'blocker'; reason: string }>

/** One setting may have several treatments: a listener also serves other servers. */
export function treatmentOf({ key, value }: Pick<EffectiveSetting, 'key' | 'value'>): readonly Treatment[] {
  // Compared with the box's own name.
  if (key === 'server_name') return []
  if (isSecret(key)) return value === null ? [] : [{ as: 'secret' }]
  const blocker = blockerOf(key, value)
  if (blocker !== undefined) return [{ as: 'blocker', reason: blocker }]
  if (key === 'listeners') return [{ as: 'template' }, ...listenerTreatments(value)]
  if (key === 'app_service_config_files' && isPlatformAlone(value)) return [{ as: 'template' }]
  const group = groupOf(key)
  if (group !== undefined) return isOff(key, value) ? [] : [{ as: 'dropped', name: group, consequence: consequenceOf(group) }]
  const { settings, maxUploadMegabytes, findings } = portableHomeserver({ [key]: value })
  if (findings.length > 0 && !isNothing(value)) return leftOut(key)
  return [{ as: Object.hasOwn(settings, key) || maxUploadMegabytes !== undefined ? 'setting' : 'template' }]
}

/** The registration of the platform, in a box that an earlier version completed in place. */
const isPlatformAlone = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((path) => String(path).endsWith('/tenantry-appservice.yaml'))

/** A key of which only some parts are data keeps these. */
function leftOut(key: string): Treatment[] {
  const parts = partlyPortable[key]
  if (parts)
    return [{ as: 'setting' }, { as: 'dropped', name: key, consequence: `of this setting only ${parts.join(', ')} are carried over` }]
  return [{ as: 'dropped', name: shown(key), consequence: 'the chat server runs with its default for this setting' }]
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

function listenerTreatments(value: unknown): Treatment[] {
  const listeners = (Array.isArray(value) ? value : []).filter(isRecord)
  const names = listeners.flatMap(({ resources }) =>
    (Array.isArray(resources) ? resources : []).flatMap((one) => (isRecord(one) && Array.isArray(one.names) ? one.names.map(String) : [])),
  )
  const found = new Set<DropGroup>()
  if (names.includes('federation')) found.add('federation')
  if (names.includes('metrics') || listeners.some(({ type }) => type === 'metrics' || type === 'manhole')) found.add('metrics')
  if (names.includes('replication')) found.add('workers')
  return [...found].map((name) => ({ as: 'dropped', name, consequence: consequenceOf(name) }))
}
