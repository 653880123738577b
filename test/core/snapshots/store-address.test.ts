import { expect, test } from 'vitest'
import { readStoreAddress, sessionsAddressError } from '../../../src/core/snapshots/index.ts'

test.each([
  ['file:/srv/snapshots', { kind: 'file', folder: '/srv/snapshots' }],
  ['file:///srv/snapshots/', { kind: 'file', folder: '/srv/snapshots' }],
  ['s3://s3.example/bucket', { kind: 's3', url: 'https://s3.example/bucket' }],
  ['s3://s3.example:9000/bucket/below/', { kind: 's3', url: 'https://s3.example:9000/bucket/below' }],
  ['s3+http://127.0.0.1:9000/bucket', { kind: 's3', url: 'http://127.0.0.1:9000/bucket' }],
  ['s3+http://172.17.0.1:9000/bucket', { kind: 's3', url: 'http://172.17.0.1:9000/bucket' }],
  ['s3+http://[fd00::1]:9000/bucket', { kind: 's3', url: 'http://[fd00::1]:9000/bucket' }],
])('%s', (text, address) => {
  expect(readStoreAddress(text)).toEqual(address)
})

test.each([
  ['s3+http://s3.example/bucket', /loopback or private/],
  ['s3+http://8.8.8.8/bucket', /loopback or private/],
  ['s3+http://127.0.0.1.example/bucket', /loopback or private/],
  ['s3+http://10.example/bucket', /loopback or private/],
  ['s3+http://172.32.0.1/bucket', /loopback or private/],
  ['s3://s3.example', /host\/bucket/],
  ['s3://s3.example//', /host\/bucket/],
  ['s3://key:secret@s3.example/bucket', /credentials/],
  ['s3://s3.example/bucket?x=1', /query/],
  ['file:snapshots', /absolute path/],
  ['file:', /absolute path/],
  ['/srv/snapshots', /must be s3/],
  ['http://s3.example/bucket', /must be s3/],
])('%s is refused', (text, why) => {
  expect(readStoreAddress(text)).toMatch(why)
})

test.each([
  ['https://sts.amazonaws.com', undefined],
  ['http://127.0.0.1:9000', undefined],
  ['http://10.1.2.3:9000', undefined],
  ['http://minio.example:9000', /loopback or private/],
  ['https://key:secret@sts.example', /https:\/\/host/],
  ['https://sts.example/?x=1', /https:\/\/host/],
  ['s3://sts.example', /https:\/\/host/],
  ['sts.example', /https:\/\/host/],
])('the session service may be at %s: %s', (text, why) => {
  const said = sessionsAddressError(text)
  if (why) expect(said).toMatch(why)
  else expect(said).toBeUndefined()
})
