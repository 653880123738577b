import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bucketStore } from '../../src/daemon/objects/bucket-store.ts'
import type { ObjectStore } from '../../src/daemon/objects/index.ts'
import { content, objectStoreSuite } from '../daemon/objects/object-store-suite.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { aBucket } from './support/a-bucket.ts'

// Objects in a real MinIO: what the folder passes, the bucket passes.
describe.skipIf(!testbedExists())('objects in a bucket', () => {
  let bucket: Awaited<ReturnType<typeof aBucket>>
  let store: ObjectStore
  let s3: S3Client
  const place = { Bucket: 'snapshots', Prefix: 'kept/' }

  beforeAll(async () => {
    bucket = await aBucket(`tenantry-files-${process.pid}`)
    const [, origin = ''] = /^s3:(http:\/\/[^/]+)/.exec(bucket.repository) ?? []
    const credentials = { accessKeyId: bucket.env.AWS_ACCESS_KEY_ID, secretAccessKey: bucket.env.AWS_SECRET_ACCESS_KEY }
    store = bucketStore(`${origin}/snapshots/kept`, credentials)
    s3 = new S3Client({ endpoint: origin, region: 'us-east-1', credentials, forcePathStyle: true })
  })
  afterAll(() => bucket?.remove())

  /** MinIO lists unfinished uploads by the whole key alone. */
  const keys = ['broken', 'killed', 'near', 'near_by'].map((name) => `kept/files/ten_1/${name}`)
  async function left(): Promise<string[]> {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command(place))
    const begun = await Promise.all(keys.map((Prefix) => s3.send(new ListMultipartUploadsCommand({ ...place, Prefix }))))
    return [...Contents, ...begun.flatMap(({ Uploads = [] }) => Uploads)].map(({ Key = '' }) => Key)
  }
  async function killedPut(key: string, bytes: number): Promise<void> {
    const at = { Bucket: place.Bucket, Key: `${place.Prefix}${key}` }
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(at))
    await s3.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: content(bytes) }))
  }

  objectStoreSuite(async () => ({ store, left, killedPut }))

  test('cannot be kept with a wrong account, or where there is no bucket', async () => {
    const { endpoint } = s3.config
    const { hostname, port } = (await endpoint?.()) ?? { hostname: '', port: 0 }
    const right = { accessKeyId: bucket.env.AWS_ACCESS_KEY_ID, secretAccessKey: bucket.env.AWS_SECRET_ACCESS_KEY }
    for (const wrong of [
      bucketStore(`http://${hostname}:${port}/snapshots`, { ...right, secretAccessKey: 'another' }),
      bucketStore(`http://${hostname}:${port}/nowhere`, right),
    ])
      await expect(wrong.look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })
})
