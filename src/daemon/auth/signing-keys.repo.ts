import type { PublicKey } from '../../core/auth/index.ts'
import type { Secret } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { type Keyring, unseal } from '../sealed/index.ts'

export type Audience = 'admin' | 'platform' | 'module'

/** One generation of an audience's key. It is published from `createdAt`, signs from `signFrom`, and is believed until `verifyUntil`. */
export type SigningKey = Readonly<{
  kid: string
  audience: Audience
  generation: number
  publicKey: PublicKey
  sealedPrivateKey: string
  createdAt: string
  signFrom: string
  verifyUntil: string | null
}>

/** Keys that tokens may still be signed with, oldest first. */
export async function liveKeys(db: DbOrTx, now: string, audience?: Audience): Promise<SigningKey[]> {
  const rows = await db
    .selectFrom('signing_keys')
    .selectAll()
    .where((where) => where.or([where('verify_until', 'is', null), where('verify_until', '>', now)]))
    .$if(audience !== undefined, (query) => query.where('audience', '=', audience as string))
    .orderBy('audience')
    .orderBy('generation')
    .execute()
  return rows.map((row) => ({
    kid: row.kid,
    audience: row.audience as Audience,
    generation: row.generation,
    publicKey: JSON.parse(row.public_jwk),
    sealedPrivateKey: row.private_jwk,
    createdAt: row.created_at,
    signFrom: row.sign_from,
    verifyUntil: row.verify_until,
  }))
}

export const privateKeyPlace = (kid: string) => ({ table: 'signing_keys', row: kid, column: 'private_jwk' })

export const openPrivateKey = (keyring: Keyring, { kid, sealedPrivateKey }: SigningKey): Secret =>
  unseal(keyring, privateKeyPlace(kid), sealedPrivateKey)
