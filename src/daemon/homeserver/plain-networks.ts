import { BlockList, isIP } from 'node:net'
import { problem } from '../../core/kit/index.ts'

/** Hosts that may be reached over `http`: loopback and the private networks that an operator lists. */
export type PlainNetworks = Readonly<{ allows(hostname: string): boolean }>

const families = { 4: 'ipv4', 6: 'ipv6' } as const
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '')

/** Private ranges. Only networks within them may be listed. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', 'fc00::/7', 'fe80::/10']
const loopback = ['127.0.0.0/8', '::1/128']

type Network = Readonly<{ address: string; bits: number; family: 'ipv4' | 'ipv6' }>

function parseNetwork(text: string): Network | undefined {
  const [address = '', bits = ''] = text.split('/')
  const family = families[isIP(address) as 4 | 6]
  if (!family || !/^[0-9]{1,3}$/.test(bits) || Number(bits) > (family === 'ipv4' ? 32 : 128)) return undefined
  return { address, bits: Number(bits), family }
}

const listOf = (texts: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const text of texts) {
    const network = parseNetwork(text)
    if (network) list.addSubnet(network.address, network.bits, network.family)
  }
  return list
}

const widest = new Map(privateRanges.map((range) => [range, parseNetwork(range) as Network]))

function isPrivate({ address, bits, family }: Network): boolean {
  return [...widest].some(([range, wide]) => wide.family === family && wide.bits <= bits && listOf([range]).check(address, family))
}

/** Parses the setting. Throws CONFIG_INVALID naming invalid and public networks. */
export function plainNetworks(listed: readonly string[]): PlainNetworks {
  for (const text of listed) {
    const network = parseNetwork(text)
    if (!network) throw problem('CONFIG_INVALID', `homeservers.privateNetworks: ${text} is not a network. fix: write it as 10.20.0.0/16`)
    if (!isPrivate(network))
      throw problem('CONFIG_INVALID', `homeservers.privateNetworks: ${text} is not private: passwords would cross it unencrypted`)
  }
  const allowed = listOf([...loopback, ...listed])
  return {
    allows: (hostname) => {
      const family = families[isIP(bare(hostname)) as 4 | 6]
      return hostname === 'localhost' || (family !== undefined && allowed.check(bare(hostname), family))
    },
  }
}

/** Why the URL must not be used; undefined if it may. Names can resolve to anything, so `http` needs an address. */
export function whyForbidden(networks: PlainNetworks, url: string): string | undefined {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || networks.allows(hostname)) return undefined
  return `${hostname} is neither on loopback nor in homeservers.privateNetworks: use https, or add its network to the setting`
}
