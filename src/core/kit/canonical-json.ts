import { sha256 as digest } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** JSON with keys sorted and no spaces: the same value always has the same text, so its hash means something. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  let members = ''
  for (const key of Object.keys(value).sort()) {
    const inner = (value as Record<string, unknown>)[key]
    if (inner !== undefined) members += `${members === '' ? '' : ','}${quoted(key)}:${canonicalJson(inner)}`
  }
  return `{${members}}`
}

/** Most texts are of signs that JSON writes as they are; asking for that costs less than having them written. */
const quoted = (text: string): string => (asTheyAre.test(text) ? `"${text}"` : JSON.stringify(text))
const asTheyAre = /^[ !#-[\]-~]*$/

/** SHA-256 in lower-case hex. */
export const sha256Hex = (text: string | Uint8Array): string => bytesToHex(digest(typeof text === 'string' ? utf8ToBytes(text) : text))
