import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetBucketPolicyCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { execa } from 'execa'
import { afterAll, describe, expect, test } from 'vitest'
import { update } from '../../src/agent/update/index.ts'
import { canObjectStoreReturn } from '../../src/core/boxes/index.ts'
import { synapseSchemas } from '../support/synapse-schemas.ts'
import { dockerEnvironment, readTestbed, type TestbedImageKey, testbedExists } from '../testbed/testbed.ts'
import { oneBox } from './support/one-box.ts'
import { eventually } from './support/programs.ts'

const bucket = 'content'
const partBytes = 5 * 1024 * 1024

const clientOf = (address: string, accessKeyId: string, secretAccessKey: string) =>
  new S3Client({
    region: 'us-east-1',
    endpoint: `http://${address}:9000`,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  })

/** Objects of each kind that MinIO stores in its own way, under a prefix. Returns what must be read back. */
async function fill(s3: S3Client, prefix: string): Promise<Map<string, Buffer>> {
  const small = randomBytes(1_000)
  const large = randomBytes(2 * 1024 * 1024)
  const parts = [randomBytes(partBytes), randomBytes(1_000)]
  const key = (name: string) => `${prefix}/${name}`
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key('small'), Body: small, Metadata: { by: prefix } }))
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key('large'), Body: large }))
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key('twice'), Body: 'first' }))
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key('twice'), Body: 'second' }))
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key('gone'), Body: 'gone' }))
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key('gone') }))
  const upload = { Bucket: bucket, Key: key('parts') }
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(upload))
  const Parts = []
  for (const [index, Body] of parts.entries()) {
    const PartNumber = index + 1
    const { ETag } = await s3.send(new UploadPartCommand({ ...upload, UploadId, PartNumber, Body }))
    Parts.push({ ETag, PartNumber })
  }
  await s3.send(new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload: { Parts } }))
  return new Map([
    [key('small'), small],
    [key('large'), large],
    [key('twice'), Buffer.from('second')],
    [key('parts'), Buffer.concat(parts)],
  ])
}

async function expectComplete(s3: S3Client, ...contents: ReadonlyMap<string, Buffer>[]): Promise<void> {
  for (const content of contents)
    for (const [Key, wanted] of content) {
      const { Body, Metadata } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }))
      expect(Buffer.compare(Buffer.from((await Body?.transformToByteArray()) ?? []), wanted), Key).toBe(0)
      if (Key.endsWith('/small')) expect(Metadata).toEqual({ by: Key.split('/')[0] })
    }
  const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket }))
  expect(Versions.filter(({ Key }) => Key?.endsWith('/twice'))).toHaveLength(2 * contents.length)
  expect(DeleteMarkers).toHaveLength(contents.length)
  await s3.send(new GetBucketPolicyCommand({ Bucket: bucket }))
}

async function prepare(s3: S3Client): Promise<void> {
  await s3.send(new CreateBucketCommand({ Bucket: bucket }))
  await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const Statement = [
    { Effect: 'Allow', Principal: { AWS: ['*'] }, Action: ['s3:GetObject'], Resource: [`arn:aws:s3:::${bucket}/public/*`] },
  ]
  await s3.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement }) }))
}

describe.skipIf(!testbedExists())('two releases of MinIO', () => {
  const name = `os-pair-${process.pid}`
  const [user, password] = ['objects', 'password-of-objects']
  const docker = async (...args: string[]) => {
    const testbed = readTestbed()
    return (await execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false })).stdout
  }
  /** The given release on the volume, in place of the one that runs. */
  const run = async (key: TestbedImageKey): Promise<S3Client> => {
    await docker('rm', '-f', name).catch(() => undefined)
    const environment = ['-e', `MINIO_ROOT_USER=${user}`, '-e', `MINIO_ROOT_PASSWORD=${password}`]
    await docker('run', '-d', '--name', name, '-v', `${name}:/data`, ...environment, readTestbed().images[key].ref, 'server', '/data')
    const address = await docker('inspect', '-f', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', name)
    await eventually(
      `${key} is healthy`,
      async () => (await fetch(`http://${address}:9000/minio/health/cluster`).catch(() => undefined))?.status === 200,
      { timeoutMs: 60_000, everyMs: 200 },
    )
    return clientOf(address, user, password)
  }
  afterAll(async () => {
    if (!testbedExists()) return
    await docker('rm', '-f', name).catch(() => undefined)
    await docker('volume', 'rm', '-f', name).catch(() => undefined)
  })

  test('the older one serves all objects after the newer one has opened the volume and written to it', async () => {
    const { minio, 'minio-former': former } = readTestbed().images
    expect(canObjectStoreReturn(synapseSchemas, former.tag, minio.tag)).toBe(true)
    const older = await run('minio-former')
    await prepare(older)
    const first = await fill(older, 'older')
    const newer = await run('minio')
    await expectComplete(newer, first)
    const second = await fill(newer, 'newer')
    const again = await run('minio-former')
    await expectComplete(again, first, second)
    const third = await fill(again, 'again')
    await expectComplete(await run('minio'), first, second, third)
  })
})

describe.skipIf(!testbedExists())('a box with an older MinIO', () => {
  test('is whole after an update of it was rolled back, and after one that stays', async () => {
    const one = await oneBox({ slug: `os-box-${process.pid}`, minio: 'minio-former' })
    try {
      const { project } = await one.box()
      const secret = async (file: string) => (await readFile(join(project.folder, 'secrets', 'minio', file), 'utf8')).trim()
      const [accessKeyId, secretAccessKey] = [await secret('root-user'), await secret('root-password')]
      const store = async () => {
        const minio = (await one.deps.engine.containers(project)).find(({ service }) => service === 'minio')
        return { s3: clientOf(minio?.address ?? '', accessKeyId, secretAccessKey), image: minio?.image }
      }
      const { s3 } = await store()
      await prepare(s3)
      const content = await fill(s3, 'older')
      const [former, newer, dying] = [one.target('minio-former'), one.target('minio'), one.target('synapse-dies')]
      const attempt = (id: string, services: object) => update(one.deps)(one.context(id), one.payload({ services, migrationsHead: '0000' }))

      expect(await attempt('dies', { minio: newer, synapse: dying })).toMatchObject({ outcome: 'rolled_back' })
      const back = await store()
      expect(back.image).toBe(former.image)
      await expectComplete(back.s3, content)

      expect(await attempt('stays', { minio: newer })).toMatchObject({ outcome: 'committed' })
      const now = await store()
      expect(now.image).toBe(newer.image)
      await expectComplete(now.s3, content)
      await one.talk.expectComplete()
    } finally {
      await one.end()
    }
  })
})
