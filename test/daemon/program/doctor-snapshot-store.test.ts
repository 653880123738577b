import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { snapshotStore } from '../../../src/daemon/program/doctor-snapshot-store.ts'

let answer: Readonly<{ status: number; code?: string }> = { status: 200 }
const server = createServer((_, response) => {
  const { status, code } = answer
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(code ? `<Error><Code>${code}</Code></Error>` : '<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>')
})
beforeAll(() => new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready)))
afterAll(() => new Promise<unknown>((closed) => server.close(closed)))

const checked = (store = `s3+http://127.0.0.1:${(server.address() as AddressInfo).port}/snapshots`) =>
  snapshotStore(
    { clock: manualClock() },
    loadConfig({
      env: {
        TENANTRY_DATA_DIR: '/nowhere',
        TENANTRY_BACKUP_KEY: Buffer.alloc(32).toString('base64'),
        TENANTRY_SNAPSHOT_STORE: store,
        TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'a',
        TENANTRY_SNAPSHOT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: 'b',
      },
    }),
  )

test.each([
  [{ status: 200 }, 'ok', /accepts the credentials for the bucket snapshots/],
  [{ status: 403, code: 'SignatureDoesNotMatch' }, 'failed', /refuses the credentials .*SignatureDoesNotMatch/],
  [{ status: 403, code: 'RequestTimeTooSkewed' }, 'failed', /clock/],
  [{ status: 404, code: 'NoSuchBucket' }, 'failed', /bucket snapshots does not exist/],
  [{ status: 503, code: 'SlowDown' }, 'failed', /does not answer as an S3 store/],
] as const)('a store that answers %j is %s', async (given, state, says) => {
  answer = given
  expect(await checked()).toMatchObject([{ state, says: expect.stringMatching(says) }])
})

test('a store that does not answer is a fault, and one on the hosts is not asked', async () => {
  expect(await checked('s3+http://127.0.0.1:9/snapshots')).toMatchObject([{ state: 'failed', says: expect.stringMatching(/ECONNREFUSED/) }])
  expect(await checked('file:/snapshots')).toEqual([])
})
