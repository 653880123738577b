import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { bucketStore } from '../../src/daemon/objects/bucket-store.ts'
import { content, guardSuite, objectStoreSuite } from '../daemon/objects/object-store-suite.ts'
import { emptyDatabase } from '../support/databases.ts'
import { hurriedClock } from '../support/hurried-clock.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { aRunningDaemon, clientOf } from '../support/running-daemon.ts'
import { aPackage, aStoreWorld, formOf } from '../support/store-world.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { aBucket } from './support/a-bucket.ts'

// Objects in a real MinIO: what the folder passes, the bucket passes.
describe.skipIf(!testbedExists())('objects in a bucket', () => {
  let bucket: Awaited<ReturnType<typeof aBucket>>
  let store: ReturnType<typeof bucketStore>
  let s3: S3Client
  let origin: URL
  let credentials: Readonly<{ accessKeyId: string; secretAccessKey: string }>
  const place = { Bucket: 'snapshots', Prefix: 'kept/' }

  beforeAll(async () => {
    bucket = await aBucket(`tenantry-files-${process.pid}`)
    origin = new URL('/', bucket.repository.slice('s3:'.length))
    credentials = { accessKeyId: bucket.env.AWS_ACCESS_KEY_ID, secretAccessKey: bucket.env.AWS_SECRET_ACCESS_KEY }
    store = bucketStore(`${origin}snapshots/kept`, credentials)
    s3 = new S3Client({ endpoint: origin.origin, region: 'us-east-1', credentials, forcePathStyle: true })
  })
  afterAll(() => bucket?.remove())

  /** MinIO lists unfinished uploads by the whole key alone. */
  const keys = ['broken', 'killed', 'near', 'near_by'].map((name) => `kept/files/ten_1/${name}`)
  async function left(): Promise<string[]> {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command(place))
    const begun = await Promise.all(keys.map((Prefix) => s3.send(new ListMultipartUploadsCommand({ ...place, Prefix }))))
    const found = [...Contents, ...begun.flatMap(({ Uploads = [] }) => Uploads)].map(({ Key = '' }) => Key)
    return found.filter((key) => !key.endsWith('/.tenantry'))
  }
  async function killedPut(key: string, bytes: number): Promise<void> {
    const at = { Bucket: place.Bucket, Key: `${place.Prefix}${key}` }
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(at))
    await s3.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: content(bytes) }))
  }

  objectStoreSuite(async () => ({ store, left, killedPut }))

  guardSuite(async () => {
    await bucket.makeBucket('another')
    onTestFinished(async () => void (await bucket.dropBucket('another')))
    const leftInAnother = async () => (await s3.send(new ListObjectsV2Command({ Bucket: 'another' }))).Contents ?? []
    const another = bucketStore(`${origin}another/kept`, credentials)
    return { store, another, leftInAnother: async () => (await leftInAnother()).map(({ Key = '' }) => Key) }
  })

  const settingsOf = (at: string) => ({
    TENANTRY_OBJECT_STORE: `s3+http://${origin.host}/${at}`,
    TENANTRY_OBJECT_STORE_CREDENTIALS_ACCESS_KEY_ID: bucket.env.AWS_ACCESS_KEY_ID,
    TENANTRY_OBJECT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: bucket.env.AWS_SECRET_ACCESS_KEY,
  })

  test('are where a whole daemon puts the files of spaces', async () => {
    const daemon = await aRunningDaemon({ clock: hurriedClock, env: settingsOf('snapshots/kept') })
    onTestFinished(daemon.close)
    const user = clientOf(daemon.url, await aPlatformUser(daemon, { tenant: 'acme', roles: ['tenant-admin'] }))
    const { id: spaceId } = await user.spaces.createSpace({ body: { name: '4b', type: 'GROUP', visibility: 'PRIVATE' } })
    const whole = content(11_000_000)
    const upload = { content: new Blob([new Uint8Array(whole)]), fileName: 'film.mp4' }
    const { id: fileId } = await user.files.uploadFile({ params: { spaceId }, upload })
    const loaded = await new Response(await user.files.downloadFile({ params: { spaceId, fileId } })).arrayBuffer()
    expect(Buffer.from(loaded).equals(whole)).toBe(true)
    expect(await left()).toEqual([expect.stringMatching(new RegExp(`^kept/files/ten_[a-z0-9]+/${fileId}$`))])
    await user.files.deleteFile({ params: { spaceId, fileId }, query: { forGood: 'true' } })
    expect(await left()).toEqual([])
  })

  test('are neither erased nor stored elsewhere by a daemon that is set to another bucket', async () => {
    const daemon = await aRunningDaemon({ clock: hurriedClock, env: settingsOf('snapshots/kept') })
    const authorization = await aPlatformUser(daemon, { tenant: 'acme', roles: ['tenant-admin'] })
    const user = clientOf(daemon.url, authorization)
    const { id: spaceId } = await user.spaces.createSpace({ body: { name: '4b', type: 'GROUP', visibility: 'PRIVATE' } })
    const upload = () => ({ content: new Blob(['hello']), fileName: 'a.txt' })
    const { id: fileId } = await user.files.uploadFile({ params: { spaceId }, upload: upload() })
    const { id: erased } = await user.files.uploadFile({ params: { spaceId }, upload: upload() })
    await daemon.close()
    await bucket.makeBucket('another')
    onTestFinished(async () => void (await bucket.dropBucket('another')))
    const moved = await aRunningDaemon({
      clock: hurriedClock,
      env: { ...settingsOf('another/kept'), TENANTRY_DATA_DIR: daemon.config.dataDir },
    })
    onTestFinished(moved.close)
    const same = clientOf(moved.url, authorization)
    const unavailable = { code: 'OBJECT_STORE_UNAVAILABLE' }
    await expect(same.files.uploadFile({ params: { spaceId }, upload: upload() })).rejects.toMatchObject(unavailable)
    await expect(same.files.downloadFile({ params: { spaceId, fileId } })).rejects.toMatchObject(unavailable)
    await same.files.deleteFile({ params: { spaceId, fileId: erased }, query: { forGood: 'true' } })
    const { db, close } = openDatabase(moved.config.databaseUrl)
    onTestFinished(close)
    expect(await db.selectFrom('files').select('state').where('id', '=', erased).execute()).toEqual([{ state: 'erasing' }])
    expect((await s3.send(new ListObjectsV2Command({ Bucket: 'another' }))).Contents ?? []).toEqual([])
    for (const key of await left()) await store.remove(key.slice('kept/'.length))
  })

  test('hold the packages of the store, which a signed link downloads until it expires', async () => {
    const { db } = await emptyDatabase('sqlite')
    onTestFinished(() => db.destroy())
    const room = await aStoreWorld(db, { objects: store })
    const anna = await room.aDeveloper('anna')
    const { zip, manifest } = await aPackage()
    const { submissionId, artifactPath } = await anna.uploadModule({ upload: formOf(zip, manifest) })
    expect(await left()).toEqual([`kept/store/${artifactPath}`])
    const { downloadUrl } = await anna.linkPackage({ params: { submissionId } })
    const get = () => fetch(`${room.url}${downloadUrl}`, { headers: { connection: 'close' } })
    expect(Buffer.from(await (await get()).arrayBuffer()).equals(zip)).toBe(true)
    await room.clock.advance(900_000)
    expect((await get()).status).toBe(403)
    await store.remove(`store/${artifactPath}`)
    expect(await left()).toEqual([])
  })

  test('cannot be kept with a wrong account, or where there is no bucket', async () => {
    for (const wrong of [
      bucketStore(`${origin}snapshots`, { ...credentials, secretAccessKey: 'another' }),
      bucketStore(`${origin}nowhere`, credentials),
    ])
      await expect(wrong.look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })
})
