import { isRecord } from './plain-data.ts'

// Features of a foreign chat server that a box does not have, by their settings.

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
      'track_puppeted_user_ips',
      'use_appservice_legacy_authorization',
    ],
    consequence: 'bridges and bots stop: their rooms and messages stay, new messages no longer pass',
  },
  federation: {
    keys: [
      ...['allow_public_rooms_over_federation', 'send_federation', 'ip_range_blacklist', 'ip_range_whitelist', 'limit_remote_rooms'],
      ...['allow_device_name_lookup_over_federation', 'serve_server_wellknown', 'allow_profile_lookup_over_federation'],
      ...['key_refresh_interval', 'prevent_media_downloads_from', 'remote_media_download_burst_count', 'remote_media_download_per_second'],
      ...['federation', 'perspectives'],
    ],
    prefixes: ['federation_'],
    consequence: 'users of other servers no longer reach rooms here, and users here no longer reach rooms of other servers',
  },
  mail: {
    keys: ['start_tls', 'account_threepid_delegates', 'account_validity'],
    consequence: 'the chat server sends no mail: no notifications, no confirmation of addresses',
  },
  sso: {
    keys: [
      ...['oidc_providers', 'oidc_config', 'oidc_enabled', 'saml2_config', 'saml2_enabled', 'cas_config', 'sso', 'jwt_config'],
      'login_via_existing_session',
    ],
    consequence: 'logins through this provider end: users without a password cannot log in until they get one',
  },
  modules: {
    keys: ['modules', 'password_providers', 'spam_checker', 'third_party_event_rules', 'auto_accept_invites'],
    consequence: 'its checks and functions end',
  },
  'storage-provider': {
    keys: ['media_storage_providers', 'backup_media_store_path'],
    consequence: 'media are stored on the host alone; files that only the provider has are not imported',
  },
  'url-previews': {
    keys: ['url_preview_ip_range_whitelist'],
    consequence: 'links to private addresses are shown without a preview',
  },
  registration: {
    keys: [
      ...['enable_registration', 'enable_registration_without_verification', 'enable_registration_captcha', 'allowed_local_3pids'],
      ...['disable_msisdn_registration', 'enable_3pid_lookup', 'default_identity_server', 'inhibit_user_in_use_error'],
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
    keys: [
      'enable_metrics',
      'metrics_flags',
      'metrics_port',
      'metrics_bind_host',
      'manhole_settings',
      'sentry',
      'opentracing',
      'report_stats_endpoint',
    ],
    consequence: 'the metrics of the chat server itself are not offered; Tenantry has its own',
  },
  templates: {
    keys: ['templates', 'custom_template_directory', 'extra_well_known_client_content'],
    consequence: 'pages and mails have the standard texts',
  },
} as const satisfies Readonly<Record<string, Group>>

export type DropGroup = keyof typeof groups

export const consequenceOf = (name: DropGroup): string => groups[name].consequence

const named = Object.entries(groups) as [DropGroup, Group][]

/** A key by its name goes before a prefix. */
export const groupOf = (key: string): DropGroup | undefined =>
  (named.find(([, { keys }]) => keys.includes(key)) ??
    named.find(([, { prefixes = [] }]) => prefixes.some((prefix) => key.startsWith(prefix))))?.[0]

/** Keys for which false or nothing is the deviation and true the default. */
const onByDefault = ['start_pushers', 'enable_media_repo', 'send_federation', 'federation_verify_certificates']

export const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0)

export function isOff(key: string, value: unknown): boolean {
  if (onByDefault.includes(key)) return value === true || value === null
  // Sample files have it with nothing but a mapping.
  if (key === 'saml2_config' && isRecord(value) && !value.sp_config && !value.config_path) return true
  return value === false || isNothing(value) || (isRecord(value) && value.enabled === false)
}

/** Settings that apply only where another one is on. */
const switches: readonly Readonly<{ main: string; keys: RegExp }>[] = [
  {
    main: 'enable_registration',
    keys: /^(enable_registration_.+|registration_requires_token|registrations_require_3pid|disable_msisdn_registration|recaptcha_.+|inhibit_user_in_use_error)$/,
  },
  { main: 'enable_registration_captcha', keys: /^recaptcha_/ },
  { main: 'url_preview_enabled', keys: /^url_preview_ip_range_whitelist$/ },
]

/** True where the setting that it belongs to is off. */
export const isSwitchedOff = (key: string, settingOf: (key: string) => unknown): boolean =>
  switches.some(({ main, keys }) => main !== key && keys.test(key) && settingOf(main) !== true)
