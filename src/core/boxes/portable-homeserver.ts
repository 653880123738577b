import { isPlainData, isRecord, shown } from './plain-data.ts'
import { partOf } from './portable-parts.ts'

// The part of homeserver.yaml that a box takes to another host. The file comes from a host that may be compromised, so nothing of it applies
// unless it is listed here: no key that loads code, names a file or opens a listener. Mail and previews of links contact other systems, and
// have checks of their own (portable-parts.ts).

/** Keys that the box template sets in its own way; their former value has no effect. */
const rendered = [
  'server_name',
  'public_baseurl',
  'report_stats',
  'database',
  'log_config',
  'media_store_path',
  'signing_key_path',
  'macaroon_secret_key',
  'form_secret',
  'registration_shared_secret',
  'trusted_key_servers',
  'suppress_key_server_warning',
  'pid_file',
  // All logins come from the platform's one address.
  'rc_login',
  // The edge has the certificate and answers at the root; the container has the limit of files.
  ...['tls_certificate_path', 'tls_private_key_path', 'no_tls', 'web_client_location', 'soft_file_limit'],
  ...['daemonize', 'print_pidfile', 'use_frozen_dicts'],
]

/** Keys that must have the value of the box template, or be absent. */
const fixed: Readonly<Record<string, unknown>> = {
  allow_public_rooms_over_federation: false,
  enable_registration: false,
  allow_guest_access: false,
  enable_3pid_lookup: false,
  federation_domain_whitelist: [],
}

/** Keys whose value is data for Synapse itself and is carried over. */
const carried = new Set([
  ...['allow_public_rooms_without_auth', 'enable_room_list_search', 'room_list_publication_rules', 'alias_creation_rules'],
  ...['auto_join_rooms', 'auto_join_mxid_localpart', 'autocreate_auto_join_rooms', 'autocreate_auto_join_rooms_federated'],
  ...['autocreate_auto_join_room_preset', 'autocreate_auto_join_room_requires_invite'],
  ...['default_room_version', 'default_power_level_content_override', 'encryption_enabled_by_default_for_room_type'],
  ...['retention', 'media_retention', 'redaction_retention_period', 'user_ips_max_age', 'forgotten_room_retention_period'],
  ...['session_lifetime', 'refreshable_access_token_lifetime', 'refresh_token_lifetime', 'nonrefreshable_access_token_lifetime'],
  ...['delete_stale_devices_after', 'forget_rooms_on_leave', 'block_non_admin_invites', 'use_presence', 'user_directory'],
  ...['require_auth_for_profile_requests', 'limit_profile_requests_to_users_who_share_rooms', 'include_profile_data_on_invite'],
  ...['enable_set_displayname', 'enable_set_avatar_url', 'enable_3pid_changes', 'max_avatar_size', 'allowed_avatar_mimetypes'],
  ...['max_image_pixels', 'dynamic_thumbnails', 'thumbnail_sizes', 'max_event_delay_duration', 'limit_usage_by_mau', 'max_mau_value'],
  ...['turn_uris', 'turn_shared_secret', 'turn_username', 'turn_password', 'turn_user_lifetime', 'turn_allow_guests'],
  ...['enable_search', 'filter_timeline_limit', 'allow_per_room_profiles', 'dummy_events_threshold', 'gc_min_interval', 'bcrypt_rounds'],
  ...['cleanup_extremities_with_dummy_events', 'exclude_rooms_from_sync', 'require_membership_for_aliases', 'room_prejoin_state'],
  ...['request_token_inhibit_3pid_errors', 'auto_join_rooms_for_guests', 'restrict_public_rooms_to_local_users', 'user_types'],
  ...['mau_trial_days', 'mau_appservice_trial_days', 'mau_limit_alerting', 'mau_stats_only', 'mau_limit_reserved_threepids'],
  ...['hs_disabled', 'hs_disabled_message', 'server_context', 'user_agent_suffix', 'matrix_rtc', 'next_link_domain_whitelist'],
  ...['ui_auth', 'background_updates'],
  ...[
    'enable_authenticated_media',
    'max_pending_media_uploads',
    'unused_expiration_time',
    'media_upload_limits',
    'room_invite_state_types',
  ],
  ...['url_preview_enabled', 'url_preview_url_blacklist', 'url_preview_accept_language', 'max_spider_size'],
  ...['admin_contact', 'server_notices', 'old_signing_keys', 'event_cache_size', 'caches', 'gc_thresholds', 'stats', 'push'],
])

const isCarried = (key: string): boolean => carried.has(key) || /^rc_[a-z0-9_]{1,60}$/.test(key)

export type PortableHomeserver = Readonly<{
  /** Set over the keys of the box template. */
  settings: Readonly<Record<string, unknown>>
  /** Undefined where the file names none; Synapse's default is 50. */
  maxUploadMegabytes: number | undefined
  findings: readonly string[]
}>

/** `homeserver` is the parsed file. A finding names the key that cannot be carried over. */
export function portableHomeserver(homeserver: unknown): PortableHomeserver {
  const entries = Object.entries(isRecord(homeserver) ? homeserver : {})
  const settings: Record<string, unknown> = {}
  const findings: string[] = []
  let maxUploadMegabytes: number | undefined
  for (const [key, value] of entries) {
    if (value === null || rendered.includes(key)) continue
    const part = partOf(key, value)
    if (key === 'max_upload_size') {
      maxUploadMegabytes = megabytes(value)
      if (maxUploadMegabytes === undefined) findings.push(refusal(key, 'write a size such as 50M'))
    } else if (part) {
      if (part.value !== undefined) settings[key] = part.value
      const fix = part.value === undefined ? 'remove it' : `remove ${part.left.slice(0, 5).join(', ')} from it`
      if (part.left.length > 0) findings.push(refusal(key, fix))
    } else if (key === 'listeners') findings.push(...listenerFindings(value))
    else if (key === 'app_service_config_files') findings.push(...appserviceFindings(value))
    else if (Object.hasOwn(fixed, key)) {
      if (JSON.stringify(value) !== JSON.stringify(fixed[key])) findings.push(refusal(key, `set it to ${JSON.stringify(fixed[key])}`))
    } else if (isCarried(key) && isPlainData(value)) settings[key] = value
    else findings.push(refusal(key, 'remove it'))
  }
  // Synapse starts only with a list.
  if (settings.url_preview_enabled === true) settings.url_preview_ip_range_blacklist ??= partOf('url_preview_ip_range_blacklist', [])?.value
  return { settings, maxUploadMegabytes, findings }
}

const refusal = (key: string, fix: string): string => `homeserver.yaml: ${shown(key)} cannot be carried over: ${fix}`

const maxMegabytes = 10_000

/** Synapse's sizes: a number of bytes, or with K, M or G. */
function megabytes(value: unknown): number | undefined {
  const [, count, unit = ''] = /^([0-9]{1,12})([KMG]?)$/.exec(String(value)) ?? []
  if (count === undefined) return undefined
  const mega = Math.ceil(Number(count) * ({ K: 1 / 1024, M: 1, G: 1024 }[unit] ?? 1 / 1024 / 1024))
  return mega >= 1 && mega <= maxMegabytes ? mega : undefined
}

/** The box template has listeners of its own, for clients alone. */
function listenerFindings(value: unknown): string[] {
  const listed = Array.isArray(value) ? value : []
  const served = listed.flatMap((one) => (isRecord(one) && Array.isArray(one.resources) ? one.resources : []))
  const names = served.flatMap((one) => (isRecord(one) && Array.isArray(one.names) ? one.names.map(String) : []))
  const other = names.find((name) => name !== 'client' && name !== 'health')
  return other === undefined ? [] : [refusal(`listeners with the resource ${other}`, 'let the listeners serve client alone')]
}

const appserviceFindings = (value: unknown): string[] =>
  Array.isArray(value) && value.length <= 1
    ? []
    : [refusal('app_service_config_files', "keep only the platform's registration; bridges need a host of their own")]
