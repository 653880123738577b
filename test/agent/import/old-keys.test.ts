import { expect, test } from 'vitest'
import { withOldKeys } from '../../../src/agent/import/old-keys.ts'

// The key pair of RFC 8032, section 7.1, test 1.
const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex').toString('base64').replaceAll('=', '')
const publicKey = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo'

test('further keys become old keys with their public part, beside those of the settings', () => {
  const former = { 'ed25519:auto': { key: 'abc', expired_ts: 1 } }
  expect(withOldKeys(former, [['ed25519', 'b', seed]], new Date(5_000))).toEqual({
    ...former,
    'ed25519:b': { key: publicKey, expired_ts: 5_000 },
  })
  expect(withOldKeys(undefined, [], new Date(0))).toEqual({})
})
