import { expect, test } from 'vitest'
import { networkOf, setupSteps } from '../../../src/core/admin/index.ts'

test.each([
  ['192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.0/24'],
  ['2001:db8:1:ab12:3::4', '2001:db8:1:ab00::/56'],
  ['2001:db8:1:abff::9', '2001:db8:1:ab00::/56'],
  ['2001:db8:1:ac00::9', '2001:db8:1:ac00::/56'],
  ['2001:db8::1', '2001:db8:0:0::/56'],
  ['::1', '0:0:0:0::/56'],
  ['fe80::1%eth0', 'fe80:0:0:0::/56'],
  ['::ffff:c000:24d', '192.0.2.0/24'],
  ['2001:DB8:0001:AB12::', '2001:db8:1:ab00::/56'],
  ['unknown', 'unknown'],
])('%s is in the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each([
  ['admin', true, false, true, ['password', 'totp']],
  ['operator', false, false, true, ['totp']],
  ['reviewer', false, false, true, []],
  ['viewer', true, false, true, ['password']],
  ['admin', false, true, true, []],
  ['admin', false, false, false, []],
] as const)('%s with initial password %s, totp %s, required %s must still do %j', (role, hasInitialPassword, hasTotp, demanded, steps) => {
  expect(setupSteps({ role, hasInitialPassword, hasTotp, byProvider: false }, demanded)).toEqual(steps)
  expect(setupSteps({ role, hasInitialPassword, hasTotp, byProvider: true }, demanded)).toEqual([])
})
