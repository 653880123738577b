import { createPrivateKey, createPublicKey } from 'node:crypto'
import { recordOf } from '../boxes/index.ts'

/** A line of a signing key file: algorithm, id and seed. */
export type SigningKey = readonly [algorithm: string, id: string, seed: string]

/** PKCS #8 before the seed of an ed25519 key. */
const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The public key, unpadded as Matrix writes it. */
function publicKeyOf(seed: string): string {
  const key = createPrivateKey({ key: Buffer.concat([prefix, Buffer.from(seed, 'base64')]), format: 'der', type: 'pkcs8' })
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64').replaceAll('=', '')
}

/** `old_signing_keys` with the further keys of the key file: what they have signed stays verifiable, and nothing new is signed with them. */
export const withOldKeys = (former: unknown, keys: readonly SigningKey[], now: Date): Readonly<Record<string, unknown>> => ({
  ...recordOf(former),
  ...Object.fromEntries(keys.map(([algorithm, id, seed]) => [`${algorithm}:${id}`, { key: publicKeyOf(seed), expired_ts: now.getTime() }])),
})
