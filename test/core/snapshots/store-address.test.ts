import { expect, test } from 'vitest'
import { readStoreAddress } from '../../../src/core/snapshots/index.ts'

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
  ['file:snapshots', /from the root/],
  ['file:', /from the root/],
  ['/srv/snapshots', /must be s3/],
  ['http://s3.example/bucket', /must be s3/],
])('%s is refused', (text, why) => {
  expect(readStoreAddress(text)).toMatch(why)
})
