/** Ten failures, none more than 15 minutes after the one before, lock for a fixed 15 minutes (service specification, section 8). */
export const mostFailures = 10
export const failureMemoryMs = 15 * 60_000
export const lockMs = 15 * 60_000
/** A network from which the account logged in within this time is counted by itself, so that strangers cannot lock its owner out. */
export const knownNetworkMs = 30 * 24 * 60 * 60_000

/** The network that an address belongs to: /24 of IPv4, /56 of IPv6. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:/i, '')
  if (!plain.includes(':')) return `${plain.split('.').slice(0, 3).join('.')}.0/24`
  const [first = '0', second = '0', third = '0', fourth = '0'] = expanded(plain)
  return `${first}:${second}:${third}:${(Number.parseInt(fourth, 16) & 0xff00).toString(16)}::/56`
}

function expanded(address: string): string[] {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  if (tail === undefined) return groups(head)
  const missing = Math.max(0, 8 - groups(head).length - groups(tail).length)
  return [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)].map((group) => Number.parseInt(group, 16).toString(16))
}
