import { addressBytes } from '../kit/index.ts'

type Width = Readonly<{ v4: number; v6: number }>

/** What counts as one client: an IPv4 address, or the /64 that an IPv6 client owns (SECURITY, Inputs). */
const oneClient: Width = { v4: 32, v6: 64 }

/**
 * The network of an address as a text to count by; two spellings of one network have the same. IPv4 in IPv6 is IPv4. What is no address
 * stands for itself.
 */
export function networkKey(address: string, { v4, v6 }: Width = oneClient): string {
  const bytes = addressBytes(address)
  if (!bytes) return address.trim().toLowerCase().replace(/%.*$/, '')
  return bytes.length === 4 ? `${masked(bytes, v4).join('.')}/${v4}` : `${hex(masked(bytes, v6))}/${v6}`
}

const masked = (bytes: readonly number[], bits: number): number[] =>
  bytes.map((byte, index) => byte & (0xff << (8 - Math.min(8, Math.max(0, bits - 8 * index)))) & 0xff)

const hex = (bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
