/** The location of all repositories: a bucket that every host reaches, or a folder on each host. */
export type StoreAddress = Readonly<{ kind: 's3'; url: string }> | Readonly<{ kind: 'file'; folder: string }>

/**
 * Reads the setting: `s3://host/bucket` (https), `s3+http://address/bucket` (plain, only for loopback or private addresses), `file:/folder`.
 * Returns the error as text.
 */
export function readStoreAddress(text: string): StoreAddress | string {
  if (text.startsWith('file:')) return fileAddress(text.slice('file:'.length))
  const [, scheme, rest] = /^(s3|s3\+http):\/\/(.*)$/.exec(text) ?? []
  if (!scheme || rest === undefined) return "must be s3://host/bucket or file:<folder on the agent's host>"
  return bucketAddress(scheme === 's3' ? 'https' : 'http', rest)
}

function fileAddress(path: string): StoreAddress | string {
  const folder = path.replace(/^\/\/(?=\/)/, '').replace(/\/+$/, '')
  return folder.startsWith('/') ? { kind: 'file', folder } : 'must be an absolute path, such as file:/var/lib/snapshots'
}

function bucketAddress(protocol: 'http' | 'https', rest: string): StoreAddress | string {
  const text = `${protocol}://${rest}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || url.username || url.password || url.search || url.hash || !/^\/[^/]/.test(url.pathname))
    return 'must be s3://host/bucket, without account or query: credentials have their own settings'
  if (protocol === 'http' && !isPrivate(url.hostname))
    return 'may be s3+http:// only for a loopback or private address (127.…, 10.…, 192.168.…). fix: use s3:// (https)'
  return { kind: 's3', url: `${protocol}://${url.host}${url.pathname}`.replace(/\/+$/, '') }
}

/** The error in the address of the session service (STS) of a store, as text; undefined when it is valid. */
export function sessionsAddressError(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    return 'must be https://host, such as https://sts.amazonaws.com or the address of a MinIO'
  if (url.protocol === 'http:' && !isPrivate(url.hostname))
    return 'may be http:// only for a loopback or private address (127.…, 10.…, 192.168.…). fix: use https://'
  return undefined
}

/** Only addresses count: a name could resolve to any network. */
const isPrivate = (host: string) =>
  /^(localhost|127(\.\d+){3}|10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[::1\]|\[f[cd][0-9a-f:]+\])$/.test(host)
