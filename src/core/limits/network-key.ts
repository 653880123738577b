import { addressBytes } from '../kit/index.ts'

type Width = Readonly<{ v4: number; v6: number }>

/** One client is an IPv4 address or an IPv6 /64. */
const oneClient: Width = { v4: 32, v6: 64 }

/**
 * The network of an address as a counting key, independent of spelling. IPv4-mapped IPv6 is IPv4. Text that is not an address is its own key.
 */
export function networkKey(address: string, { v4, v6 }: Width = oneClient): string {
  const bytes = addressBytes(address)
  if (!bytes) return address.trim().toLowerCase().replace(/%.*$/, '')
  return bytes.length === 4 ? `${masked(bytes, v4).join('.')}/${v4}` : `${hex(masked(bytes, v6))}/${v6}`
}

const masked = (bytes: readonly number[], bits: number): number[] =>
  bytes.map((byte, index) => byte & (0xff << (8 - Math.min(8, Math.max(0, bits - 8 * index)))) & 0xff)

const hex = (bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
