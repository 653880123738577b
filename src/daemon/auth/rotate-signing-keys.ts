import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { type Clock, elapsedMs, isoIn, isoNow, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { type Keyring, seal } from '../sealed/index.ts'
import { type Audience, liveKeys, privateKeyPlace, type SigningKey } from './signing-keys.repo.ts'

export type KeyDeps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>

const publishBeforeUseMs = 10 * 60_000
const keepAfterUseMs = 24 * 60 * 60_000 + 5 * 60_000 // the longest token, and clocks that disagree
const rotateEveryMs = 30 * 24 * 60 * 60_000

/**
 * Makes the next key when the newest is old enough (or at once with `force`), published ten minutes before it signs.
 * The first key of an audience signs at once, because no token exists yet. Any number of replicas may call it; one makes the key.
 */
export async function rotateSigningKeys(deps: KeyDeps, audience: Audience, { force = false } = {}): Promise<{ rotated: boolean }> {
  const { db, clock } = deps
  const newest = (await liveKeys(db, isoNow(clock), audience)).at(-1)
  if (newest && !due(newest, isoNow(clock), force)) return { rotated: false }
  const rotated = await addKey(deps, audience, newest)
  await db.deleteFrom('signing_keys').where('verify_until', '<', isoNow(clock)).execute()
  return { rotated }
}

const due = ({ createdAt, signFrom }: SigningKey, now: string, force: boolean) =>
  signFrom <= now && (force || elapsedMs(createdAt, now) >= rotateEveryMs)

async function addKey({ db, clock, random, keyring }: KeyDeps, audience: Audience, newest: SigningKey | undefined): Promise<boolean> {
  const { kid, publicJwk, privateJwk } = await makeKeyPair()
  const signFrom = newest ? isoIn(clock, publishBeforeUseMs) : isoNow(clock)
  const generation = (newest?.generation ?? 0) + 1
  return db.transaction().execute(async (tx) => {
    const inserted = await tx
      .insertInto('signing_keys')
      .values({
        kid,
        audience,
        generation,
        public_jwk: JSON.stringify(publicJwk),
        private_jwk: seal({ keyring, random }, privateKeyPlace(kid), JSON.stringify(privateJwk)),
        created_at: isoNow(clock),
        sign_from: signFrom,
        verify_until: null,
      })
      .onConflict((c) => c.columns(['audience', 'generation']).doNothing())
      .executeTakeFirst()
    if (Number(inserted.numInsertedOrUpdatedRows ?? 0) === 0) return false
    if (newest) {
      const verifyUntil = isoIn(clock, publishBeforeUseMs + keepAfterUseMs)
      await tx.updateTable('signing_keys').set({ verify_until: verifyUntil }).where('kid', '=', newest.kid).execute()
    }
    const actor = { kind: 'system', name: 'key-rotation' } as const
    await recordAudit(tx, clock, { actor, action: 'signing-key.added', subject: kid, data: { audience, signFrom } })
    return true
  })
}

async function makeKeyPair() {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const [publicJwk, privateJwk] = [await exportJWK(publicKey), await exportJWK(privateKey)]
  const kid = await calculateJwkThumbprint(publicJwk)
  return { kid, publicJwk: { ...publicJwk, kid, alg: 'ES256', use: 'sig' }, privateJwk }
}
