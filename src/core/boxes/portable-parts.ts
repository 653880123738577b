import { isPlainData, isRecord, shown } from './plain-data.ts'

// Settings of the chat server of which a box takes along a part: the rest names files or code, or works only where the file was written.

/** `value` is undefined where nothing is taken along; `left` names what stays behind. */
export type Part = Readonly<{ value: unknown; left: readonly string[] }>

type Check = (value: unknown) => boolean

const pick = (known: Readonly<Record<string, Check>> | readonly string[]) => {
  const checks = new Map(Array.isArray(known) ? known.map((key) => [key, isPlainData]) : Object.entries(known))
  return (value: unknown): Part => {
    if (!isRecord(value)) return { value: undefined, left: value === null ? [] : ['a value that is no map'] }
    const set = Object.entries(value).filter(([, one]) => one !== null)
    const isTaken = ([key, one]: readonly [string, unknown]) => checks.get(key)?.(one) === true
    return { value: Object.fromEntries(set.filter(isTaken)), left: set.filter((entry) => !isTaken(entry)).map(([key]) => shown(key)) }
  }
}

const isFlag: Check = (value) => typeof value === 'boolean'
const isScalar: Check = (value) => !isRecord(value) && !Array.isArray(value) && isPlainData(value)

/** A server that another host finds too: no container of the stack, and not the container itself. */
const isMailServer: Check = (value) =>
  typeof value === 'string' &&
  /^(?=.{4,253}$)([a-z0-9_-]{1,63}\.)+[a-z0-9-]{1,63}$/i.test(value) &&
  !/^127\.|^0\.|(^|\.)localhost$|^host\.docker\.internal$/i.test(value)

const mailKeys = [
  ...['smtp_port', 'smtp_user', 'smtp_pass', 'force_tls', 'require_transport_security', 'enable_tls', 'tlsname', 'notif_from', 'app_name'],
  ...['enable_notifs', 'notif_for_new_users', 'notif_delay_before_mail', 'client_base_url', 'riot_base_url', 'invite_client_location'],
  ...['validation_token_lifetime'],
]
const pickMail = pick({ ...Object.fromEntries(mailKeys.map((key) => [key, isScalar])), smtp_host: isMailServer, subjects: isPlainData })

/** Without its server nothing of it works. */
function mailPart(value: unknown): Part {
  const part = pickMail(value)
  return isRecord(part.value) && part.value.smtp_host !== undefined ? part : { value: undefined, left: ['smtp_host'] }
}

/** Private and special ranges, as Synapse has them for everything but previews of links. */
const privateRanges = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '192.0.0.0/24', '169.254.0.0/16', '192.88.99.0/24'],
  ...['198.18.0.0/15', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4'],
  ...['::1/128', 'fe80::/10', 'fc00::/7', '2001:db8::/32', 'ff00::/8', 'fec0::/10'],
]

/** Addresses that previews must not reach: those of every private network too, whatever the file says. */
function previewRanges(value: unknown): Part {
  const listed = Array.isArray(value) ? value : []
  const isRange = (one: unknown) => typeof one === 'string' && /^[0-9a-f.:/]{2,60}$/i.test(one)
  return {
    value: [...new Set([...listed.filter(isRange), ...privateRanges])],
    left: listed
      .filter((one) => !isRange(one))
      .map(String)
      .map(shown),
  }
}

/** Flags of experiments are data; some experiments name other systems or files. */
function flagPart(value: unknown): Part {
  const names = isRecord(value) ? Object.keys(value) : []
  return pick(Object.fromEntries(names.filter((name) => /^\w{1,60}$/.test(name)).map((name) => [name, isFlag])))(value)
}

const parts: Readonly<Record<string, (value: unknown) => Part>> = {
  // Both can name modules.
  presence: pick(['enabled', 'include_offline_users_on_sync']),
  password_config: pick(['enabled', 'localdb_enabled', 'pepper', 'policy']),
  oembed: pick(['disable_default_providers']),
  email: mailPart,
  experimental_features: flagPart,
  url_preview_ip_range_blacklist: previewRanges,
}

/** Undefined for a key that is taken along as a whole, or not at all. */
export const partOf = (key: string, value: unknown): Part | undefined => (Object.hasOwn(parts, key) ? parts[key]?.(value) : undefined)
