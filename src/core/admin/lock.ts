import { addressBytes } from '../kit/index.ts'

/** Ten failures, none more than 15 minutes after the one before, lock for a fixed 15 minutes (service specification, section 8). */
export const mostFailures = 10
export const failureMemoryMs = 15 * 60_000
export const lockMs = 15 * 60_000
/** A network from which the account logged in within this time is counted by itself, so that strangers cannot lock its owner out. */
export const knownNetworkMs = 30 * 24 * 60 * 60_000

/** The network that an address belongs to, as a person reads it: /24 of IPv4, /56 of IPv6. What is no address stands for itself. */
export function networkOf(address: string): string {
  const bytes = addressBytes(address)
  if (!bytes) return address
  if (bytes.length === 4) return `${bytes.slice(0, 3).join('.')}.0/24`
  const group = (at: number) => (((bytes[at] ?? 0) << 8) | (at === 6 ? 0 : (bytes[at + 1] ?? 0))).toString(16)
  return `${[0, 2, 4, 6].map(group).join(':')}::/56`
}
