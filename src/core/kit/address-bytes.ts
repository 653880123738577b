/** The 4 bytes of an IPv4 address or the 16 of an IPv6 one, in any spelling; IPv4 in IPv6 is IPv4. Undefined for other text. */
export function addressBytes(address: string): readonly number[] | undefined {
  const plain = address.trim().toLowerCase().replace(/%.*$/, '')
  const bytes = ipv4Bytes(plain) ?? ipv6Bytes(plain)
  const mapped = bytes?.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  return mapped ? bytes.slice(-4) : bytes
}

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
