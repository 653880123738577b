import { isIP } from 'node:net'
import { z } from 'zod'

/** Networks that have a name of their own. */
const named = ['loopback', 'linklocal', 'uniquelocal']

const isNetwork = (text: string): boolean => {
  const [address = '', prefix, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0 || address.includes('%') || isOddlyMixed(address)) return false
  return prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (version === 4 ? 32 : 128))
}

/** An IPv4 address written inside an IPv6 one is read by the server in one form only. */
const isOddlyMixed = (address: string): boolean => address.includes(':') && address.includes('.') && !/^::ffff:[0-9.]+$/i.test(address)

/** A proxy whose word counts: what is refused here would be a fault of the program once it serves. */
export const ProxyAddress = z
  .string()
  .refine((text) => named.includes(text) || isNetwork(text), 'must be addresses or networks such as 10.0.3.7 or 10.0.3.0/24')
