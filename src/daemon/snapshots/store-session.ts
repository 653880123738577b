import { type Clock, type Problem, printable, problem } from '../../core/kit/index.ts'
import type { Config } from '../config/index.ts'

export type SessionDeps = Readonly<{ clock: Clock; fetch: typeof globalThis.fetch }>

type Sessions = NonNullable<Config['snapshotSessions']>

/** `repository` as restic names it: `s3:https://host/bucket/…`. */
type Input = Readonly<{ sessions: Sessions; key: AccessKey; repository: string }>

const timeoutMs = 10_000

/**
 * Requests a session credential for one command, as environment for restic. It expires, reaches only this repository, and can delete only restic's locks
 *. Throws SNAPSHOT_STORE_UNAVAILABLE, CONFIG.
 */
export async function storeSession({ clock, fetch }: SessionDeps, { sessions, key, repository }: Input): Promise<Record<string, string>> {
  const { endpoint, region } = sessions
  const url = new URL(endpoint)
  const body = new URLSearchParams(parametersOf(sessions, repository)).toString()
  const headers = await signedHeaders(url, body, { key, region, at: clock.now() })
  const call = { method: 'POST', headers, body, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) } as const
  const asked = fetch(url, call).then(async (answer) => ({ status: answer.status, text: (await answer.text()).slice(0, 100_000) }))
  const { status, text } = await asked.catch((cause: Error) => {
    throw problem('SNAPSHOT_STORE_UNAVAILABLE', `the session service of the snapshot store at ${url.origin} does not answer`, { cause })
  })
  if (status !== 200) throw sessionProblem(url, status, text)
  const [id, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((name) => wordIn(text, name))
  if (!id || !secret || !token) throw sessionProblem(url, status, text)
  return { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token }
}

const parametersOf = ({ roleArn, hours }: Sessions, repository: string): Record<string, string> => ({
  Action: 'AssumeRole',
  Version: '2011-06-15',
  DurationSeconds: String(hours * 3600),
  Policy: JSON.stringify(sessionPolicy(repository)),
  RoleSessionName: 'tenantry-agent',
  ...(roleArn === undefined ? {} : { RoleArn: roleArn }),
})

/** The permissions of a session: at most these, whatever the key itself may do. */
export function sessionPolicy(repository: string): object {
  const [bucket = '', ...path] = new URL(repository.replace(/^s3:/, '')).pathname.slice(1).split('/')
  const [all, own] = [`arn:aws:s3:::${bucket}`, path.join('/')]
  const allow = (Action: readonly string[], Resource: string, more: object = {}) => ({
    Effect: 'Allow',
    Action,
    Resource: [Resource],
    ...more,
  })
  return {
    Version: '2012-10-17',
    Statement: [
      allow(['s3:GetBucketLocation'], all),
      allow(['s3:ListBucket'], all, { Condition: { StringLike: { 's3:prefix': [`${own}/*`] } } }),
      allow(['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'], `${all}/${own}/*`),
      allow(['s3:DeleteObject'], `${all}/${own}/locks/*`),
    ],
  }
}

const wordIn = (xml: string, name: string): string | undefined => new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1]

function sessionProblem({ origin }: URL, status: number, text: string): Problem {
  const why = [`${status}`, wordIn(text, 'Code'), wordIn(text, 'Message')].filter(Boolean).join(' ')
  const reason = printable(why).slice(0, 300)
  if (status >= 500 || status === 429)
    return problem('SNAPSHOT_STORE_UNAVAILABLE', `the session service of the snapshot store at ${origin} failed: ${reason}`)
  return problem(
    'CONFIG',
    `the session service of the snapshot store at ${origin} refused a session (${reason}). fix: check TENANTRY_SNAPSHOT_SESSIONS_… and the permissions of the key in TENANTRY_SNAPSHOT_STORE_CREDENTIALS; test with \`tenantryd doctor\``,
  )
}

export type AccessKey = Readonly<{ accessKeyId: string; secretAccessKey: string }>

/** The headers of a form for the session service, with an AWS signature of version 4; `host` is left to `fetch`. */
async function signedHeaders(url: URL, body: string, { key, region, at }: Readonly<{ key: AccessKey; region: string; at: Date }>) {
  // Loaded on use: few daemons ask for sessions, and these take 2 MB.
  const [{ Sha256 }, { SignatureV4 }] = await Promise.all([import('@smithy/core/checksum'), import('@smithy/signature-v4')])
  const signer = new SignatureV4({ credentials: key, region, service: 'sts', sha256: Sha256, applyChecksum: false })
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8', host: url.host }
  const { protocol, hostname, pathname: path } = url
  const signed = await signer.sign({ method: 'POST', protocol, hostname, path, query: {}, headers, body }, { signingDate: at })
  const { host: _, ...others } = signed.headers
  return others
}
