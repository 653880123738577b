import { createHash, createHmac } from 'node:crypto'
import { type Clock, type Problem, printable, problem } from '../../core/kit/index.ts'
import type { Config } from '../config/index.ts'

export type SessionDeps = Readonly<{ clock: Clock; fetch: typeof globalThis.fetch }>

type Sessions = NonNullable<Config['snapshotSessions']>

/** `repository` as restic names it: `s3:https://host/bucket/…`. */
type Wanted = Readonly<{ sessions: Sessions; key: AccessKey; repository: string }>

const patienceMs = 10_000

/**
 * A credential for one command: it ends by itself, reaches this one repository and no other tenant's, and deletes nothing but the locks that
 * restic sets (SECURITY, Agents). As environment of restic. Throws SNAPSHOT_STORE_UNAVAILABLE, CONFIG.
 */
export async function storeSession({ clock, fetch }: SessionDeps, { sessions, key, repository }: Wanted): Promise<Record<string, string>> {
  const { endpoint, region } = sessions
  const url = new URL(endpoint)
  const body = new URLSearchParams(questionOf(sessions, repository)).toString()
  const headers = signedForm({ url, body, at: clock.now(), region, service: 'sts', key })
  const call = { method: 'POST', headers, body, redirect: 'manual', signal: AbortSignal.timeout(patienceMs) } as const
  const asked = fetch(url, call).then(async (answer) => ({ status: answer.status, text: (await answer.text()).slice(0, 100_000) }))
  const { status, text } = await asked.catch((cause: Error) => {
    throw problem('SNAPSHOT_STORE_UNAVAILABLE', `${url.origin}, which gives sessions of the snapshot store, does not answer`, { cause })
  })
  if (status !== 200) throw refusal(url, status, text)
  const [id, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((name) => wordIn(text, name))
  if (!id || !secret || !token) throw refusal(url, status, text)
  return { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token }
}

const questionOf = ({ roleArn, hours }: Sessions, repository: string): Record<string, string> => ({
  Action: 'AssumeRole',
  Version: '2011-06-15',
  DurationSeconds: String(hours * 3600),
  Policy: JSON.stringify(sessionPolicy(repository)),
  RoleSessionName: 'tenantry-agent',
  ...(roleArn === undefined ? {} : { RoleArn: roleArn }),
})

/** What a command may do in the store. Whatever the key itself may do beyond it, the session may not. */
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

function refusal({ origin }: URL, status: number, text: string): Problem {
  const why = [`${status}`, wordIn(text, 'Code'), wordIn(text, 'Message')].filter(Boolean).join(' ')
  const said = printable(why).slice(0, 300)
  if (status >= 500 || status === 429)
    return problem('SNAPSHOT_STORE_UNAVAILABLE', `${origin}, which gives sessions of the snapshot store, answered ${said}`)
  return problem(
    'CONFIG',
    `${origin} gives no session of the snapshot store (${said}): look at TENANTRY_SNAPSHOT_SESSIONS_… and at what the key of TENANTRY_SNAPSHOT_STORE_CREDENTIALS may do; \`tenantryd doctor\` tries it`,
  )
}

export type AccessKey = Readonly<{ accessKeyId: string; secretAccessKey: string }>

type Request = Readonly<{ url: URL; body: string; at: Date; region: string; service: string; key: AccessKey }>

const sum = (text: string): string => createHash('sha256').update(text).digest('hex')
const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const contentType = 'application/x-www-form-urlencoded; charset=utf-8'

/** The headers of a form that is posted to a service of S3's family, signed by its version 4: the secret itself never travels. */
function signedForm({ url, body, at, region, service, key }: Request): Record<string, string> {
  const time = at.toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const headers = { 'content-type': contentType, host: url.host, 'x-amz-date': time }
  const names = Object.keys(headers).join(';')
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const canonical = ['POST', url.pathname, '', lines.join(''), names, sum(body)].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const signing = [day, region, service, 'aws4_request'].reduce<string | Buffer>(mac, `AWS4${key.secretAccessKey}`)
  const signature = mac(signing, ['AWS4-HMAC-SHA256', time, scope, sum(canonical)].join('\n')).toString('hex')
  return {
    'content-type': contentType,
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}
