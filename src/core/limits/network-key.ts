type Width = Readonly<{ v4: number; v6: number }>

/** What counts as one client: an IPv4 address, or the /64 that an IPv6 client owns (SECURITY, Inputs). */
const oneClient: Width = { v4: 32, v6: 64 }

/**
 * The network of an address as a text to count by; two spellings of one network have the same. IPv4 in IPv6 is IPv4. What is no address
 * stands for itself.
 */
export function networkKey(address: string, { v4, v6 }: Width = oneClient): string {
  const plain = address.trim().toLowerCase().replace(/%.*$/, '')
  const bytes = ipv4Bytes(plain) ?? ipv6Bytes(plain)
  if (!bytes) return plain
  const mapped = bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  return mapped || bytes.length === 4 ? `${masked(bytes.slice(-4), v4).join('.')}/${v4}` : `${hex(masked(bytes, v6))}/${v6}`
}

const masked = (bytes: readonly number[], bits: number): number[] =>
  bytes.map((byte, index) => byte & (0xff << (8 - Math.min(8, Math.max(0, bits - 8 * index)))) & 0xff)

const hex = (bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')

function ipv4Bytes(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined
  return parts.map(Number)
}

function ipv6Bytes(text: string): number[] | undefined {
  const [before = '', after, more] = text.split('::')
  if (!text.includes(':') || more !== undefined) return undefined
  const [head, tail] = [groups(before), groups(after ?? '')]
  if (!head || !tail) return undefined
  const missing = 16 - head.length - tail.length
  if (after === undefined ? missing !== 0 : missing < 2) return undefined
  return [...head, ...new Array<number>(missing).fill(0), ...tail]
}

/** Groups of 16 bits, the last perhaps written as IPv4. */
function groups(text: string): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    const v4 = index === parts.length - 1 ? ipv4Bytes(part) : undefined
    if (!v4 && !/^[0-9a-f]{1,4}$/.test(part)) return undefined
    const value = Number.parseInt(part, 16)
    bytes.push(...(v4 ?? [value >> 8, value & 0xff]))
  }
  return bytes
}
