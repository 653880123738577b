import fc from 'fast-check'
import { expect, test } from 'vitest'
import { networkKey } from '../../../src/core/limits/index.ts'

const key = '20010db8000000010000000000000000/64'

test.each([
  ['192.0.2.7', '192.0.2.7/32'],
  ['::ffff:192.0.2.7', '192.0.2.7/32'],
  ['::FFFF:c000:207', '192.0.2.7/32'],
  ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7/32'],
  ['2001:db8:0:1::1', key],
  ['2001:db8:0:1::2', key],
  ['2001:0DB8:0000:0001:ffff:1:2:3', key],
  ['2001:db8:0:1::', key],
  ['2001:db8::1', '20010db8000000000000000000000000/64'],
  ['2001:db8::2', '20010db8000000000000000000000000/64'],
  ['::1', '00000000000000000000000000000000/64'],
  ['fe80::1%eth0', 'fe800000000000000000000000000000/64'],
  ['1::2::3', '1::2::3'],
  ['1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8:9'],
  ['1:2:3:4:5:6:7', '1:2:3:4:5:6:7'],
  ['300.1.1.1', '300.1.1.1'],
  ['unknown', 'unknown'],
])('%s counts as %s', (address, network) => {
  expect(networkKey(address)).toBe(network)
})

test('wider networks, for known locations', () => {
  expect(networkKey('192.0.2.7', { v4: 24, v6: 56 })).toBe('192.0.2.0/24')
  expect(networkKey('2001:db8:0:1ff::1', { v4: 24, v6: 56 })).toBe('20010db8000001000000000000000000/56')
})

const group = fc.integer({ min: 0, max: 0xffff })

test('every spelling of every address of a /64 is one client, and two /64 are two', () => {
  fc.assert(
    fc.property(fc.tuple(group, group, group, group), fc.tuple(group, group, group, group), (network, host) => {
      const plain = [...network, ...host].map((part) => part.toString(16)).join(':')
      const padded = [...network, 0, 0, 0, 1].map((part) => part.toString(16).toUpperCase().padStart(4, '0')).join(':')
      fc.pre(!network.every((part) => part === 0))
      expect(networkKey(plain)).toBe(networkKey(padded))
      const other = [network[0] ^ 1, ...network.slice(1), ...host].map((part) => part.toString(16)).join(':')
      expect(networkKey(other)).not.toBe(networkKey(plain))
    }),
  )
})
