/** Where all repositories are: a bucket that every host reaches, or a folder on each host itself. */
export type StoreAddress = Readonly<{ kind: 's3'; url: string }> | Readonly<{ kind: 'file'; folder: string }>

/**
 * Reads the setting: `s3://host/bucket` (by https), `s3+http://address/bucket` (plain, only on this machine or a private network: labs),
 * `file:/folder`. Answers what is wrong with it as a sentence.
 */
export function readStoreAddress(text: string): StoreAddress | string {
  if (text.startsWith('file:')) return fileAddress(text.slice('file:'.length))
  const [, scheme, rest] = /^(s3|s3\+http):\/\/(.*)$/.exec(text) ?? []
  if (!scheme || rest === undefined) return "must be s3://host/bucket or file:<folder on the agent's host>"
  return bucketAddress(scheme === 's3' ? 'https' : 'http', rest)
}

function fileAddress(given: string): StoreAddress | string {
  const folder = given.replace(/^\/\/(?=\/)/, '').replace(/\/+$/, '')
  return folder.startsWith('/') ? { kind: 'file', folder } : 'must name a folder from the root: file:/var/lib/snapshots'
}

function bucketAddress(protocol: 'http' | 'https', rest: string): StoreAddress | string {
  const text = `${protocol}://${rest}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || url.username || url.password || url.search || url.hash || !/^\/[^/]/.test(url.pathname))
    return 'must be s3://host/bucket, without account or query: credentials are settings of their own'
  if (protocol === 'http' && !isPrivate(url.hostname))
    return 'may be s3+http:// only at a loopback or private address (127.…, 10.…, 192.168.…): over any other network use s3://, which is https'
  return { kind: 's3', url: `${protocol}://${url.host}${url.pathname}`.replace(/\/+$/, '') }
}

/** What is wrong with the address of a service that gives sessions of a store, as a sentence; undefined for a good one. */
export function sessionsAddressError(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    return 'must be https://host, such as https://sts.amazonaws.com or the address of a MinIO'
  if (url.protocol === 'http:' && !isPrivate(url.hostname))
    return 'may be http:// only at a loopback or private address (127.…, 10.…, 192.168.…): over any other network use https://'
  return undefined
}

/** Names could lead anywhere, so only addresses count. */
const isPrivate = (host: string) =>
  /^(localhost|127(\.\d+){3}|10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[::1\]|\[f[cd][0-9a-f:]+\])$/.test(host)
