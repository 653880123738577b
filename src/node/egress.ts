import { lookup as resolveName } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { isLoopback, problem } from '../core/kit/index.ts'

/**
 * Connections to servers of strangers. `lookup` is for the options of a connection. Node.js calls it for names alone: `assertHost` checks a host that
 * is an address, and is called before each connection. Both fail with code EPRIVATE.
 */
export type Egress = Readonly<{ lookup: LookupFunction; assertHost(hostname: string): void }>

type Resolve = typeof resolveName

/** IPv4 networks that are not the public internet (IANA special-purpose registry). */
const special4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24'],
  ...['192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]
/** Public IPv6 is within 2000::/3, without documentation and tunnels that contain an IPv4 address. */
const public6 = '2000::/3'
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const families = { 4: 'ipv4', 6: 'ipv6' } as const

function add(list: BlockList, text: string): void {
  const [address = '', bits = ''] = text.split('/')
  const family = families[isIP(address) as 4 | 6]
  if (!family || !/^[0-9]{1,3}$/.test(bits) || Number(bits) > (family === 'ipv4' ? 32 : 128))
    throw problem('CONFIG_INVALID', `egress.allow: ${text} is not a network. fix: write it as 10.20.0.0/16`)
  list.addSubnet(address, Number(bits), family)
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) add(list, network)
  return list
}

/**
 * Checks each address at the time of the connection, which goes to the address that was checked: a name that resolves to another address later is
 * checked again. An address is public, within `allow`, or on loopback and written as such by an operator. Throws CONFIG_INVALID.
 */
export function egressRules(allow: readonly string[] = [], resolve: Resolve = resolveName): Egress {
  const [blocked4, within6, blocked6, allowed] = [listOf(special4), listOf([public6]), listOf(special6), listOf(allow)]
  const isAllowed = (address: string, family: number): boolean => {
    if (allowed.check(address, families[family as 4 | 6])) return true
    if (family === 4) return !blocked4.check(address, 'ipv4')
    return within6.check(address, 'ipv6') && !blocked6.check(address, 'ipv6')
  }
  const lookup: LookupFunction = (hostname, options, done) =>
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, [])
      const safe = found.filter(({ address, family }) => (hostname === 'localhost' && isLocal(address)) || isAllowed(address, family))
      const [first] = safe
      if (!first) return done(notPublic(hostname), [])
      if (options.all) done(null, safe)
      else done(null, first.address, first.family)
    })
  const assertHost = (hostname: string): void => {
    const address = hostname.replace(/^\[|\]$/g, '')
    const family = isIP(address)
    if (family !== 0 && !isLoopback({ hostname }) && !isAllowed(address, family)) throw notPublic(hostname)
  }
  return { lookup, assertHost }
}

const isLocal = (address: string): boolean => isLoopback({ hostname: isIP(address) === 6 ? `[${address}]` : address })

const notPublic = (hostname: string): Error =>
  Object.assign(new Error(`${hostname} has no public address, and the setting egress.allow does not name its network`), {
    code: 'EPRIVATE',
  })
