import { decodeProtectedHeader, errors, importJWK, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { type AgentPublicKey, agentAudience, agentToken, classifyReplacedKey, type KeyReplacement } from '../../core/hosts/index.ts'
import { type AgentActor, bearerToken, type Problem, problem } from '../../core/kit/index.ts'
import type { HostsDeps } from './deps.ts'
import { findFormerKey, findHostByKeyId, type Host, hostById } from './hosts.repo.ts'
import { trackLastSeen } from './last-seen.ts'
import { type FreezeDeps, freezeHost } from './revoke-host.ts'
import { replaceKey } from './rotate-key.ts'

type Deps = FreezeDeps & Pick<HostsDeps, 'baseUrl'>

/** After this only the announced key is accepted, even if unused. */
const formerKeyMs = 10 * 60_000

/**
 * Authenticates an agent by a JWT of at most 60 s signed with its key for this daemon. The host is read at each call, so a revocation takes
 * effect at once. A call by a replaced key freezes the host. Throws UNAUTHENTICATED, CLOCK_SKEW, HOST_REVOKED, HOST_FROZEN, UNAVAILABLE.
 */
export function authenticateAgent(deps: Deps): (authorization: string | undefined) => Promise<AgentActor> {
  const read = keyReader()
  const check = tokenReader(deps)
  const see = trackLastSeen(deps)
  return async (authorization) => {
    const token = bearerToken(authorization)
    if (!token) throw problem('UNAUTHENTICATED', 'Missing header `Authorization: Bearer <token>`; agents sign each call with their key.')
    const keyId = keyIdOf(token)
    const { host, publicKey, replaced, isObsolete } = await signingKey(deps, keyId)
    const instanceId = await check(token, await read(keyId, publicKey))
    assertNotBlocked(host)
    if (isObsolete)
      throw problem(
        'UNAUTHENTICATED',
        `${host.name} was enrolled again with another key. fix: repeat that enrolment here, or enrol with a new invitation: tenantry-agent enrol --anew`,
      )
    if (replaced) return refuseReplacedKey(deps, { host, replaced, instanceId })
    if (host.nextKey?.id === keyId) await replaceKey(deps, host, instanceId)
    // Another process with the key must not pass for the connected agent.
    if (host.instances.current === instanceId) await see(host)
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

/** A thumbprint; PostgreSQL refuses some other texts. */
const thumbprint = /^[\w-]{43}$/

function keyIdOf(token: string): string {
  const kid = headerOf(token)?.kid
  if (typeof kid === 'string' && thumbprint.test(kid)) return kid
  throw problem('UNAUTHENTICATED', 'The token is not an agent token.')
}

function headerOf(token: string) {
  try {
    return decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}

type SigningKey = Readonly<{ host: Host; publicKey: AgentPublicKey; replaced?: KeyReplacement; isObsolete?: boolean }>

/**
 * The announced key is valid at once, the former one until the first use of the announced one or for ten minutes. A replaced key is returned
 * too, because a call by it counts as evidence only with a valid signature. Throws UNAUTHENTICATED.
 */
async function signingKey({ db, clock }: Deps, keyId: string): Promise<SigningKey> {
  const host = await findHostByKeyId(db, keyId)
  if (!host) {
    const former = await findFormerKey(db, keyId)
    if (!former) throw problem('UNAUTHENTICATED', 'No host is enrolled with this key. fix: tenantry-agent enrol')
    return { ...former, host: await hostById(db, former.hostId) }
  }
  const { publicKey, nextKey, instances } = host
  if (!nextKey) return { host, publicKey }
  if (nextKey.id === keyId) return { host, publicKey: nextKey.publicKey }
  const endMs = Date.parse(nextKey.announcedAt) + formerKeyMs
  if (clock.now().getTime() <= endMs) return { host, publicKey }
  return { host, publicKey, replaced: { at: new Date(endMs).toISOString(), by: instances.current } }
}

type ReplacedKeyCall = Readonly<{ host: Host; replaced: KeyReplacement; instanceId: string }>

async function refuseReplacedKey(deps: Deps, { host, replaced, instanceId }: ReplacedKeyCall): Promise<never> {
  const verdict = classifyReplacedKey(replaced, instanceId, deps.clock.now())
  if (verdict === 'own') throw problem('UNAUTHENTICATED', `The key of ${host.name} was replaced. fix: enrol the agent again`)
  if (verdict === 'late') throw problem('UNAVAILABLE', `The key of ${host.name} was just replaced.`, { retryAfterSeconds: 10 })
  await freezeHost(deps, host, { instanceId, replacedAt: replaced.at })
  throw problem(
    'HOST_FROZEN',
    `This call is signed with a replaced key of ${host.name}; the host is frozen. fix: find the second agent, then enrol the host again`,
  )
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
    const verified = await verify(token, key, { audience: agentAudience(baseUrl), now })
    known.set(token, verified)
    return verified.instanceId
  }
}

async function verify(token: string, key: Key, { audience, now }: Readonly<{ audience: string; now: Date }>): Promise<Verified> {
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
