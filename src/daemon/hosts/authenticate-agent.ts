import { decodeProtectedHeader, errors, importJWK, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { type AgentPublicKey, agentAudience, agentToken } from '../../core/hosts/index.ts'
import { type AgentActor, elapsedMs, isoNow, type Problem, problem } from '../../core/kit/index.ts'
import type { HostsDeps } from './deps.ts'
import { findHostByKeyId, type Host } from './hosts.repo.ts'
import { trackLastSeen } from './last-seen.ts'
import { replaceKey } from './rotate-key.ts'

type Deps = Pick<HostsDeps, 'db' | 'clock' | 'log' | 'baseUrl'>

/** After this only the announced key is accepted, even if unused. */
const formerKeyMs = 10 * 60_000

/**
 * Authenticates an agent by a JWT of at most 60 s signed with its key for this daemon. The host is read at each call, so a revocation takes
 * effect at once. Throws UNAUTHENTICATED, CLOCK_SKEW, HOST_REVOKED, HOST_FROZEN.
 */
export function authenticateAgent(deps: Deps): (authorization: string | undefined) => Promise<AgentActor> {
  const read = keyReader()
  const check = tokenReader(deps)
  const see = trackLastSeen(deps)
  return async (authorization) => {
    const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
    if (!token) throw problem('UNAUTHENTICATED', 'Missing header `Authorization: Bearer <token>`; agents sign each call with their key.')
    const keyId = keyIdOf(token)
    const host = await findHostByKeyId(deps.db, keyId)
    if (!host) throw problem('UNAUTHENTICATED', 'No host is enrolled with this key. fix: tenantry-agent enrol')
    const instanceId = await check(token, await read(keyId, keyOf(deps, host, keyId)))
    assertNotBlocked(host)
    if (host.nextKey?.id === keyId) await replaceKey(deps, host, instanceId)
    await see(host)
    return { kind: 'agent', hostId: host.id, name: host.name, instanceId }
  }
}

type Key = Awaited<ReturnType<typeof importJWK>>

const maxCachedKeys = 5000

/** Importing a key costs as much as verifying a signature. The id is a thumbprint of the key, so entries never become stale. */
function keyReader(): (keyId: string, publicKey: AgentPublicKey) => Promise<Key> {
  const known = new LRUCache<string, Promise<Key>>({ max: maxCachedKeys })
  return (keyId, publicKey) => {
    const found = known.get(keyId)
    if (found) return found
    const key = importJWK(publicKey, agentToken.algorithm)
    known.set(keyId, key)
    return key
  }
}

function keyIdOf(token: string): string {
  try {
    return String(decodeProtectedHeader(token).kid ?? '')
  } catch {
    throw problem('UNAUTHENTICATED', 'The token is not an agent token.')
  }
}

/** Accepts the announced key at once, the former key until the first use of the new one or for ten minutes. Throws UNAUTHENTICATED. */
function keyOf({ clock }: Deps, { name, keyId, publicKey, nextKey }: Host, signedWith: string): AgentPublicKey {
  if (nextKey?.id === signedWith) return nextKey.publicKey
  if (signedWith === keyId && (!nextKey || elapsedMs(nextKey.announcedAt, isoNow(clock)) <= formerKeyMs)) return publicKey
  throw problem('UNAUTHENTICATED', `The key of ${name} was replaced. fix: enrol the agent again`)
}

type Verified = Readonly<{ key: Key; instanceId: string; fromMs: number; untilMs: number }>

const maxCachedTokens = 5000

/** Verifies a token. Agents reuse a token for several calls, so a verified one is cached for its lifetime, without the leeway. */
function tokenReader({ clock, baseUrl }: Deps): (token: string, key: Key) => Promise<string> {
  const known = new LRUCache<string, Verified>({ max: maxCachedTokens })
  return async (token, key) => {
    const now = clock.now()
    const found = known.get(token)
    if (found && found.key === key && found.fromMs <= now.getTime() && now.getTime() < found.untilMs) return found.instanceId
    const verified = await verify(token, key, agentAudience(baseUrl), now)
    known.set(token, verified)
    return verified.instanceId
  }
}

async function verify(token: string, key: Key, audience: string, now: Date): Promise<Verified> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [agentToken.algorithm],
      audience,
      clockTolerance: agentToken.leewaySeconds,
      // Counted from `iat`, so that a longer `exp` has no effect; also refuses an `iat` in the future.
      maxTokenAge: agentToken.lifeSeconds,
      currentDate: now,
      requiredClaims: ['iat', 'exp', agentToken.instanceClaim],
    })
    const [fromMs, endMs] = [Number(payload.iat) * 1000, Number(payload.exp) * 1000]
    const instanceId = String(payload[agentToken.instanceClaim]).slice(0, 64)
    return { key, instanceId, fromMs, untilMs: Math.min(endMs, fromMs + agentToken.lifeSeconds * 1000) }
  } catch (error) {
    throw refusal(error, now)
  }
}

/** The server time is revealed only for a valid signature: the library checks times last. */
function refusal(error: unknown, now: Date): Problem {
  const claim = (error as { claim?: string }).claim
  const late = error instanceof errors.JWTExpired
  const early = error instanceof errors.JWTClaimValidationFailed && claim === 'iat'
  if (!late && !early) return problem('UNAUTHENTICATED', 'The token is not signed by the key of this host for this daemon.')
  const signedAt = Number((error as errors.JWTExpired).payload.iat) * 1000
  const offset = Math.round((signedAt - now.getTime()) / 1000)
  const serverTime = now.toISOString()
  return problem(
    'CLOCK_SKEW',
    `The clock of this host is ${Math.abs(offset)} s ${offset > 0 ? 'ahead of' : 'behind'} the daemon (${serverTime}). fix: set the clock of the host (timedatectl, chrony)`,
    { details: [{ path: 'serverTime', reason: serverTime }] },
  )
}

/** Throws HOST_REVOKED, HOST_FROZEN. */
export function assertNotBlocked({ name, status, reason }: Pick<Host, 'name' | 'status' | 'reason'>): void {
  if (status === 'revoked')
    throw problem(
      'HOST_REVOKED',
      `Host ${name} is revoked (${reason}). fix: tenantry hosts invite ${name}, then tenantry-agent enrol --anew on the host`,
    )
  if (status === 'frozen')
    throw problem(
      'HOST_FROZEN',
      `Host ${name} is frozen (${reason}). fix: stop the second agent, tenantry hosts invite ${name}, then tenantry-agent enrol --anew on the host`,
    )
}
