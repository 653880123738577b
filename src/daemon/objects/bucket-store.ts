import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { checkedKey, lostKey, type PlainStore, type Stretch, storeFailure, summed } from './object-store.ts'

type Credentials = Readonly<{ accessKeyId: string; secretAccessKey: string }>
/** `remembered`: the marks that this process has put. */
type Bucket = Readonly<{ s3: S3Client; Bucket: string; prefix: string; remembered: Set<string> }>
type Place = Readonly<{ Bucket: string; Key: string }>

/** The least that S3 takes as a part that others follow, and all that is in memory of an upload. */
const partBytes = 5 * 1024 * 1024

/** `look` stores and removes it. A kill may leave it. */
const testKey = 'tenantry_look'

/** In a folder that had objects: unlike a folder of a disk, one of a bucket ends with its last object. */
const markName = '.tenantry'

/** Each download keeps its connection until the reader is done: at the default of fifty, slow readers would block all others. More than may run. */
const agent = { keepAlive: true, maxSockets: 1000 }

/** Objects of a bucket; `address` is `https://host/bucket` with a prefix or without. */
export function bucketStore(address: string, credentials: Credentials): PlainStore {
  const bucket = bucketAt(address, credentials)
  return {
    name: address,
    fix: `set TENANTRY_OBJECT_STORE to the bucket that has them, or restore them from its versions; if they are lost for good, put an empty object at ${address}/${lostKey}`,
    trustMs: 60_000,
    has: (key) => at(bucket, key, (place) => has(bucket, place)),
    remember: (key) => at(bucket, key, (place) => remember(bucket, markOf(place))),
    remembers: (key) => at(bucket, key, (place) => has(bucket, markOf(place))),
    put: async (key, content) => put(bucket, placeOf(bucket, key), content),
    get: (key, stretch) => at(bucket, key, (place) => get(bucket, place, stretch)),
    remove: (key) => at(bucket, key, (place) => remove(bucket, place)),
    removeBelow: (folder) => at(bucket, folder, (place) => removeBelow(bucket, place)),
    look: () => at(bucket, testKey, (place) => look(bucket, place)),
  }
}

function bucketAt(address: string, credentials: Credentials): Bucket {
  const { origin, hostname, pathname } = new URL(address)
  const [Bucket = '', ...prefix] = pathname.slice(1).split('/')
  const [, region = 'us-east-1'] = /^s3[.-]([a-z0-9-]+)\.amazonaws\.com$/.exec(hostname) ?? []
  const s3 = new S3Client({
    endpoint: origin,
    region,
    credentials,
    forcePathStyle: true,
    // The sums that newer services want of every upload are refused by older ones.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 30_000, httpAgent: agent, httpsAgent: agent },
  })
  return { s3, Bucket, prefix: prefix.map((part) => `${part}/`).join(''), remembered: new Set() }
}

const placeOf = ({ Bucket, prefix }: Bucket, key: string): Place => ({ Bucket, Key: `${prefix}${checkedKey(key)}` })

async function at<T>(bucket: Bucket, key: string, work: (place: Place) => Promise<T>): Promise<T> {
  const place = placeOf(bucket, key)
  return failingAsStore(() => work(place))
}

async function failingAsStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw storeFailure(error)
  }
}

async function put({ s3 }: Bucket, place: Place, content: AsyncIterable<Uint8Array>) {
  const { content: passed, kept, reason } = summed(content)
  const parts = inParts(passed)
  try {
    const { value: first = Buffer.alloc(0) } = await parts.next()
    if (first.length < partBytes) await s3.send(new PutObjectCommand({ ...place, Body: first }))
    else await putInParts(s3, place, { first, rest: parts })
  } catch (error) {
    throw reason(error)
  }
  return kept()
}

/** Only the last is shorter than a part has to be. */
async function* inParts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, undefined> {
  let [waiting, bytes]: [Uint8Array[], number] = [[], 0]
  for await (const chunk of content) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes < partBytes) continue
    const part = Buffer.concat(waiting)
    ;[waiting, bytes] = [[], 0] // before the part is on its way: else it is in memory twice
    yield part
  }
  if (bytes > 0) yield Buffer.concat(waiting)
  return undefined
}

async function putInParts(
  s3: S3Client,
  place: Place,
  { first, rest }: Readonly<{ first: Buffer; rest: AsyncIterable<Buffer> }>,
): Promise<void> {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(place))
  try {
    const done = [await putPart(s3, { ...place, UploadId, PartNumber: 1 }, first)]
    for await (const part of rest) done.push(await putPart(s3, { ...place, UploadId, PartNumber: done.length + 1 }, part))
    await s3.send(new CompleteMultipartUploadCommand({ ...place, UploadId, MultipartUpload: { Parts: done } }))
  } catch (error) {
    // An object that remains is found again when its key is removed.
    await s3.send(new AbortMultipartUploadCommand({ ...place, UploadId })).catch(() => undefined)
    throw error
  }
}

type Part = Place & Readonly<{ UploadId: string | undefined; PartNumber: number }>

async function putPart(s3: S3Client, part: Part, Body: Buffer) {
  const { ETag } = await s3.send(new UploadPartCommand({ ...part, Body }))
  return { ETag, PartNumber: part.PartNumber }
}

async function get({ s3 }: Bucket, place: Place, stretch: Stretch | undefined): Promise<AsyncIterable<Uint8Array> | undefined> {
  try {
    const Range = stretch && `bytes=${stretch.from}-${stretch.to}`
    const { Body } = await s3.send(new GetObjectCommand({ ...place, ...(Range ? { Range } : {}) }))
    return Body as AsyncIterable<Uint8Array> | undefined
  } catch (error) {
    if ((error as Error).name === 'NoSuchKey') return undefined
    throw error
  }
}

async function has({ s3 }: Bucket, place: Place): Promise<boolean> {
  try {
    await s3.send(new HeadObjectCommand(place))
    return true
  } catch (error) {
    if ((error as Error).name === 'NotFound') return false
    throw error
  }
}

/** An account that may only read has a bucket too: whether files can be kept and taken away shows by doing it. */
async function look(bucket: Bucket, place: Place): Promise<void> {
  await bucket.s3.send(new HeadBucketCommand({ Bucket: place.Bucket }))
  await bucket.s3.send(new PutObjectCommand({ ...place, Body: Buffer.alloc(0) }))
  await remove(bucket, place)
}

const markOf = ({ Bucket, Key }: Place): Place => ({ Bucket, Key: `${Key.slice(0, Key.lastIndexOf('/') + 1)}${markName}` })

async function remember({ s3, remembered }: Bucket, mark: Place): Promise<void> {
  if (remembered.has(mark.Key)) return
  await s3.send(new PutObjectCommand({ ...mark, Body: Buffer.alloc(0) }))
  remembered.add(mark.Key)
}

async function remove({ s3 }: Bucket, place: Place): Promise<void> {
  await s3.send(new DeleteObjectCommand(place))
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket: place.Bucket, Prefix: place.Key }))
  for (const { Key, UploadId } of Uploads) if (Key === place.Key) await s3.send(new AbortMultipartUploadCommand({ ...place, UploadId }))
}

async function removeBelow({ s3, remembered }: Bucket, { Bucket, Key: folder }: Place): Promise<void> {
  remembered.delete(`${folder}/${markName}`)
  const below = { Bucket, Prefix: `${folder}/` }
  let ContinuationToken: string | undefined
  do {
    const page = await s3.send(new ListObjectsV2Command({ ...below, ContinuationToken }))
    for (const { Key } of page.Contents ?? []) await s3.send(new DeleteObjectCommand({ Bucket, Key }))
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken !== undefined)
  // MinIO lists none of a folder; it ends them itself after a day.
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand(below))
  for (const { Key, UploadId } of Uploads) await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
}
