import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { trustOf } from '../../../src/daemon/http/index.ts'

const isTaken = (proxy: string): boolean => {
  try {
    return loadConfig({ env: { TENANTRY_TRUSTED_PROXIES: proxy } }).trustedProxies[0] === proxy
  } catch (error) {
    if (isProblem(error, 'CONFIG_INVALID')) return false
    throw error
  }
}

test.each(['10.0.3.7', '10.0.3.0/24', '2001:db8::/32', '::1', '::ffff:10.0.0.1', 'loopback', 'uniquelocal'])('%s is a proxy', (proxy) => {
  expect(isTaken(proxy)).toBe(true)
})

test.each([
  'proxy.school.example',
  '0.0.0.0/0',
  '10.0.0.0/33',
  '::/129',
  '10.0.0/8',
  '10.0.0.1/',
  '10.0.0.1/8/8',
  'fe80::1%eth0',
  '::0.0.0.0',
])('%s is refused at the start', (proxy) => {
  expect(isTaken(proxy)).toBe(false)
})

test('what is taken, the server that is to believe it can read', () => {
  const part = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom('loopback', 'x', '10.0.0', '::ffff:1.2.3.4', '::1.2.3.4', '1::1.2.3.4', '010.0.0.1'),
  )
  const proxies = fc.tuple(part, fc.option(fc.integer({ min: -1, max: 140 }))).map(([at, bits]) => (bits === null ? at : `${at}/${bits}`))
  fc.assert(
    fc.property(proxies, (proxy) => void (isTaken(proxy) && trustOf([proxy]))),
    { numRuns: 1000 },
  )
})
