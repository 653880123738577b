import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import type { Clock, TenantId } from '../../core/kit/index.ts'
import { type Check, failed, passed } from '../../node/command-line.ts'
import { settlingFetch } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import { agentRepository, reachesStore } from '../snapshots/index.ts'

/** A placeholder tenant: nothing is stored for it. */
const testTenant = 'ten_doctor' as TenantId
const name = 'snapshot store'

/** Lists in the bucket with the credentials that a command gets: a wrong key is otherwise found by the first snapshot at night. */
export async function snapshotStore({ clock }: Readonly<{ clock: Clock }>, config: Config): Promise<Check[]> {
  if (!reachesStore(config)) return []
  // Missing settings and refused sessions have checks of their own.
  const found = await agentRepository({ clock, fetch: settlingFetch }, config, testTenant).catch(() => undefined)
  if (!found) return []
  const { origin, hostname, pathname } = new URL(found.repository.replace(/^s3:/, ''))
  const [Bucket = '', ...folders] = pathname.slice(1).split('/')
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '', AWS_SESSION_TOKEN: sessionToken } = found.env
  const [, region = 'us-east-1'] = /^s3[.-]([a-z0-9-]+)\.amazonaws\.com$/.exec(hostname) ?? []
  const s3 = new S3Client({
    ...{ endpoint: origin, region, forcePathStyle: true, maxAttempts: 1 },
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) },
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  })
  try {
    await s3.send(new ListObjectsV2Command({ Bucket, Prefix: `${folders.join('/')}/`, MaxKeys: 1 }))
    return [passed(name, `${origin} accepts the credentials for the bucket ${Bucket}`)]
  } catch (error) {
    return [failed(name, ...textOf(error as Failure, { origin, Bucket }))]
  } finally {
    s3.destroy()
  }
}

type Failure = Error & Readonly<{ code?: string; $metadata?: Readonly<{ httpStatusCode?: number }> }>

function textOf(error: Failure, { origin, Bucket }: Readonly<{ origin: string; Bucket: string }>): readonly [says: string, fix: string] {
  const status = error.$metadata?.httpStatusCode
  if (error.name === 'RequestTimeTooSkewed')
    return [
      `the clock of ${origin} and that of this machine differ by more than 15 minutes`,
      'set up time synchronisation on both (`timedatectl`)',
    ]
  if (error.name === 'NoSuchBucket')
    return [`the bucket ${Bucket} does not exist at ${origin}`, 'create it, or correct TENANTRY_SNAPSHOT_STORE']
  if (status === 401 || status === 403)
    return [
      `${origin} refuses the credentials for the bucket ${Bucket} (${error.name})`,
      'correct TENANTRY_SNAPSHOT_STORE_CREDENTIALS_… or their permissions',
    ]
  return [`${origin} does not answer as an S3 store (${error.code ?? error.name})`, 'start the store, or correct TENANTRY_SNAPSHOT_STORE']
}
