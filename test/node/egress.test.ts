import type { lookup } from 'node:dns'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { egressRules } from '../../src/node/index.ts'

type Resolved = { address: string; family: number }

/** A resolver that answers these addresses, one list for each question. The last one repeats. */
const answers = (...lists: readonly (readonly string[])[]) => {
  const asked: string[] = []
  const resolve = (hostname: string, _: unknown, done: (error: Error | null, found: Resolved[]) => void) => {
    const list = lists[Math.min(asked.push(hostname), lists.length) - 1] as readonly string[]
    done(
      null,
      list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { asked, resolve: resolve as never as typeof lookup }
}

const found = (hostname: string, addresses: readonly string[], allow: readonly string[] = []) =>
  new Promise<readonly string[] | string>((resolve) =>
    egressRules(allow, answers(addresses).resolve).lookup(hostname, { all: true }, (error, all) =>
      resolve(error ? (error as { code: string }).code : (all as readonly Resolved[]).map(({ address }) => address)),
    ),
  )

/** The address as a URL has it: decimal, octal and hexadecimal forms become dotted ones. */
const hostOf = (url: string) => new URL(url).hostname

const refused = [
  ...['127.0.0.1', '127.8.9.1', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1'],
  ...['169.254.169.254', '169.254.0.1', '192.0.0.192', '198.18.0.1', '192.0.2.1', '224.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
  ...['fc00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1', '2001::7f00:1', '2001:db8::1', '2002:7f00:1::1', '3fff::1', '100::1'],
]
const published = ['1.1.1.1', '93.184.215.14', '172.15.0.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1']

describe('a name', () => {
  test.each(refused)('that resolves to %s is refused', async (address) => {
    expect(await found('service.example', [address])).toBe('EPRIVATE')
  })
  test.each(published)('that resolves to %s passes', async (address) => {
    expect(await found('service.example', [address])).toEqual([address])
  })
  test('with public and private addresses is called at the public ones', async () => {
    expect(await found('service.example', ['10.0.0.1', '1.1.1.1', '::1', '169.254.169.254'])).toEqual(['1.1.1.1'])
  })
  test('may resolve into a network of the setting, and no further', async () => {
    expect(await found('service.example', ['10.30.1.1', '10.31.1.1'], ['10.30.0.0/16'])).toEqual(['10.30.1.1'])
    expect(await found('service.example', ['fd00::1'], ['fd00::/64'])).toEqual(['fd00::1'])
  })
  test('that sounds local is no exception; localhost is on loopback', async () => {
    for (const name of ['localhost.', 'a.localhost', 'localhost.example', 'localtest.me'])
      expect(await found(name, ['127.0.0.1'])).toBe('EPRIVATE')
    expect(await found('localhost', ['127.0.0.1', '::1'])).toEqual(['127.0.0.1', '::1'])
    expect(await found('localhost', ['10.0.0.1', '169.254.169.254'])).toBe('EPRIVATE')
  })
  test('the message names host and setting', () => {
    const { lookup: lookUp } = egressRules([], answers(['10.0.0.1']).resolve)
    lookUp('service.example', {}, (error) => expect(error?.message).toMatch(/^service\.example .*egress\.allow/))
    expect(() => egressRules().assertHost('10.0.0.1')).toThrow(/^10\.0\.0\.1 .*egress\.allow/)
  })
  test('that does not exist keeps its error', async () => {
    const code = await new Promise((resolve) =>
      egressRules().lookup('nothing.invalid', {}, (error) => resolve((error as { code: string }).code)),
    )
    expect(code).toMatch(/^E(NOTFOUND|AI_AGAIN)$/)
  })
})

describe('an address in a URL', () => {
  const passes = (url: string, allow: readonly string[] = []) => {
    try {
      egressRules(allow).assertHost(hostOf(url))
      return true
    } catch {
      return false
    }
  }
  test.each([
    ...refused.filter((one) => !/^127\.|^::1$/.test(one)).map((one) => (one.includes(':') ? `https://[${one}]` : `https://${one}`)),
    ...['https://2852039166', 'https://0251.0376.0251.0376', 'https://0xa9fea9fe', 'https://0xa9.0xfe.43518', 'https://169.254.43518'],
    ...['https://167772161:8443', 'https://012.0.0.1', 'https://10.1', 'https://0', 'https://%31%30.0.0.1', 'https://１０.0.0.1'],
  ])('%s is refused', (url) => expect(passes(url)).toBe(false))
  test.each([...published.map((one) => (one.includes(':') ? `https://[${one}]` : `https://${one}`)), 'https://16843009'])(
    '%s passes',
    (url) => expect(passes(url)).toBe(true),
  )
  test('loopback, which an operator wrote, and networks of the setting pass', () => {
    for (const url of ['http://127.0.0.1:8080', 'http://[::1]', 'http://2130706433', 'http://localhost']) expect(passes(url)).toBe(true)
    expect(passes('https://10.30.1.1', ['10.30.0.0/16'])).toBe(true)
    expect(passes('https://10.31.1.1', ['10.30.0.0/16'])).toBe(false)
    expect(passes('https://169.254.169.254', ['10.30.0.0/16'])).toBe(false)
  })
})

test('a connection goes to the address that was checked: a name that changes between check and connection is asked once', async () => {
  const server = createServer()
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const connected = (rules: ReturnType<typeof egressRules>) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: 'service.example', port, lookup: rules.lookup })
      socket
        .on('connect', () => resolve(socket.remoteAddress ?? ''))
        .on('error', (error) => resolve((error as { code?: string }).code ?? ''))
      socket.on('connect', () => socket.destroy())
    })
  const first = answers(['127.0.0.1'], ['10.0.0.1'])
  expect(await connected(egressRules(['127.0.0.0/8'], first.resolve))).toBe('127.0.0.1')
  expect(first.asked).toEqual(['service.example'])
  expect(await connected(egressRules(['127.0.0.0/8'], first.resolve))).toBe('EPRIVATE')
  expect(await connected(egressRules([], answers(['127.0.0.1']).resolve))).toBe('EPRIVATE')
})

test.each(['10.0.0.0', '10.0.0.0/33', 'example.org/8', '::/129', '10.0.0.0/-1', ''])('the setting %s is refused', (network) => {
  expect(() => egressRules([network])).toThrow(/egress\.allow.*fix: /)
})
