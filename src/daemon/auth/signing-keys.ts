import { type CryptoKey, decodeProtectedHeader, importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { type KeyDeps, rotateSigningKeys } from './rotate-signing-keys.ts'
import { type Audience, liveKeys, openPrivateKey, type SigningKey } from './signing-keys.repo.ts'

/** Audiences whose tokens this daemon reads. */
type SessionAudience = Exclude<Audience, 'module'>

/** Claims of ours by audience: who (`sub`), in which session (`sid`, `fam`), of which tenant (`tid`). Roles are never in a token. */
const claimNames = { admin: ['sub', 'sid'], platform: ['sub', 'tid', 'fam'] } as const satisfies Record<SessionAudience, readonly string[]>

type Names<A extends SessionAudience> = Readonly<Record<(typeof claimNames)[A][number], string>>
type Claims<A extends SessionAudience> = Names<A> & Readonly<{ expiresAtMs: number }>

export type SigningKeys<A extends SessionAudience = 'admin'> = Readonly<{
  sign(claims: Names<A>, lifetimeMs: number): Promise<{ token: string; expiresAt: string }>
  /** Checks signature, algorithm, audience and expiry, nothing else. Throws UNAUTHENTICATED. */
  verify(token: string): Promise<Claims<A>>
}>

const algorithm = 'ES256'
/** New keys are published ten minutes before use, so a minute is soon enough; an unknown `kid` is looked up at once, but not more often than this. */
const reloadAfterMs = 60_000
const unknownReloadMs = 1000
const maxVerified = 10_000

/** Signs and checks the tokens of one audience with its own keys. Makes the first key if there is none. */
export async function openSigningKeys<A extends SessionAudience>(deps: KeyDeps, audience: A): Promise<SigningKeys<A>> {
  await rotateSigningKeys(deps, audience)
  const keys = keyCache(deps, audience)
  const names: readonly string[] = claimNames[audience]
  const verified = new LRUCache<string, Claims<A>>({ max: maxVerified })

  const sign: SigningKeys<A>['sign'] = async (claims, lifetimeMs) => {
    const { kid, key } = await keys.signer()
    const issued = Math.floor(deps.clock.now().getTime() / 1000)
    const token = await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
      .setAudience(audience)
      .setIssuedAt(issued)
      .setExpirationTime(issued + Math.floor(lifetimeMs / 1000))
      .sign(key)
    return { token, expiresAt: isoIn(deps.clock, lifetimeMs) }
  }

  const verify: SigningKeys<A>['verify'] = async (token) => {
    const known = verified.get(token)
    const claims = known ?? (await check(token))
    if (claims.expiresAtMs <= deps.clock.now().getTime()) throw refused('it has expired')
    if (!known) verified.set(token, claims)
    return claims
  }

  const check = async (token: string): Promise<Claims<A>> => {
    const key = await keys.verifier(kidOf(token))
    if (!key) throw refused('its key is unknown')
    try {
      const options = { algorithms: [algorithm], audience, currentDate: deps.clock.now(), requiredClaims: [...names, 'exp'] }
      const { payload } = await jwtVerify(token, key, options)
      const claims = Object.fromEntries(names.map((name) => [name, String(payload[name])]))
      return { ...claims, expiresAtMs: Number(payload.exp) * 1000 } as Claims<A>
    } catch {
      throw refused('it is not valid or has expired')
    }
  }

  return { sign, verify }
}

const refused = (reason: string) => problem('UNAUTHENTICATED', `the token was rejected: ${reason}. fix: log in again`)

function kidOf(token: string): string {
  try {
    return String(decodeProtectedHeader(token).kid)
  } catch {
    throw refused('it is not a token of this daemon')
  }
}

type Loaded = Readonly<{ rows: readonly SigningKey[]; atMs: number }>

/** The audience's keys as the database has them, read again as time passes, each imported once. */
export function keyCache({ db, clock, keyring }: KeyDeps, audience: Audience) {
  let loaded: Loaded | undefined
  let loading: Promise<Loaded> | undefined
  const publicKeys = new Map<string, Promise<CryptoKey>>()
  const privateKeys = new Map<string, Promise<CryptoKey>>()

  const load = async (): Promise<Loaded> => ({ rows: await liveKeys(db, isoNow(clock), audience), atMs: clock.monotonicMs() })
  const rows = async (olderThanMs: number) => {
    if (loaded && clock.monotonicMs() - loaded.atMs < olderThanMs) return loaded.rows
    // One read for all who ask meanwhile: tokens with made-up keys come by the hundred.
    loading ??= load().finally(() => {
      loading = undefined
    })
    loaded = await loading
    return loaded.rows
  }
  const imported = (cache: Map<string, Promise<CryptoKey>>, kid: string, jwk: () => JWK) => {
    if (!cache.has(kid)) cache.set(kid, importJWK(jwk(), algorithm) as Promise<CryptoKey>)
    return cache.get(kid) as Promise<CryptoKey>
  }
  const believed = (all: readonly SigningKey[], kid: string) =>
    all.find((key) => key.kid === kid && (key.verifyUntil === null || key.verifyUntil > isoNow(clock)))

  return {
    async signer() {
      const row = (await rows(reloadAfterMs)).filter(({ signFrom }) => signFrom <= isoNow(clock)).at(-1)
      if (!row) throw problem('UNAVAILABLE', 'there is no signing key: the daemon is still starting')
      return { kid: row.kid, key: await imported(privateKeys, row.kid, () => JSON.parse(openPrivateKey(keyring, row).reveal())) }
    },
    async verifier(kid: string) {
      const row = believed(await rows(reloadAfterMs), kid) ?? believed(await rows(unknownReloadMs), kid)
      return row && imported(publicKeys, kid, () => row.publicKey as JWK)
    },
  }
}
