import { decodeProtectedHeader, errors, importJWK, jwtVerify } from 'jose'
import { type AgentPublicKey, agentAudience, agentToken } from '../../core/hosts/index.ts'
import { type AgentActor, elapsedMs, isoNow, type Problem, problem } from '../../core/kit/index.ts'
import type { HostsDeps } from './deps.ts'
import { findHostByKeyId, type Host } from './host.repo.ts'
import { replaceKey } from './rotate-key.ts'
import { sightings } from './sightings.ts'

type Deps = Pick<HostsDeps, 'db' | 'clock' | 'log' | 'baseUrl'>

/** After that the announced key alone is heard, though nobody has used it yet. */
const formerKeyMs = 10 * 60_000

/**
 * The host behind a call, by a token of at most 60 s that its key signed for this daemon. The record is read at each call: a revoked host is
 * out at once. Throws UNAUTHENTICATED, CLOCK_SKEW, HOST_REVOKED, HOST_FROZEN.
 */
export function authenticateAgent(deps: Deps): (authorization: string | undefined) => Promise<AgentActor> {
  const read = keyReader()
  const check = tokenReader(deps)
  const see = sightings(deps)
  return async (authorization) => {
    const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
    if (!token) throw problem('UNAUTHENTICATED', 'agents sign each call with their key: no token was sent')
    const keyId = keyIdOf(token)
    const host = await findHostByKeyId(deps.db, keyId)
    if (!host) throw problem('UNAUTHENTICATED', 'no host is enrolled with this key: `tenantry-agent enrol` does it')
    const instanceId = await check(token, await read(keyId, keyOf(deps, host, keyId)))
    refuseShutOut(host)
    if (host.nextKey?.id === keyId) await replaceKey(deps, host, instanceId)
    await see(host)
    return { kind: 'agent', hostId: host.id, name: host.name, instanceId }
  }
}

type Key = Awaited<ReturnType<typeof importJWK>>

const keysKept = 5000

/** Reading a key costs as much as a signature, and agents poll for ever. An id is the key's own sum, so what is kept never grows old. */
function keyReader(): (keyId: string, publicKey: AgentPublicKey) => Promise<Key> {
  const known = new Map<string, Promise<Key>>()
  return (keyId, publicKey) => {
    const found = known.get(keyId)
    if (found) return found
    if (known.size >= keysKept) known.clear()
    const key = importJWK(publicKey, agentToken.algorithm)
    known.set(keyId, key)
    return key
  }
}

function keyIdOf(token: string): string {
  try {
    return String(decodeProtectedHeader(token).kid ?? '')
  } catch {
    throw problem('UNAUTHENTICATED', 'this is not a token of an agent')
  }
}

/** An announced key counts from now on; the one that it replaces, until that was used or for ten minutes. Throws UNAUTHENTICATED. */
function keyOf({ clock }: Deps, { name, keyId, publicKey, nextKey }: Host, signedWith: string): AgentPublicKey {
  if (nextKey?.id === signedWith) return nextKey.publicKey
  if (signedWith === keyId && (!nextKey || elapsedMs(nextKey.announcedAt, isoNow(clock)) <= formerKeyMs)) return publicKey
  throw problem('UNAUTHENTICATED', `the key of ${name} was replaced: an agent without the new one must enrol anew`)
}

type Verified = Readonly<{ key: Key; instanceId: string; fromMs: number; untilMs: number }>

const tokensKept = 5000

/**
 * Checks a token. An agent uses one for several calls, and its signature need not be computed for each: one that was good stays good with the
 * same key for the life that it has, without the leeway.
 */
function tokenReader({ clock, baseUrl }: Deps): (token: string, key: Key) => Promise<string> {
  const known = new Map<string, Verified>()
  return async (token, key) => {
    const now = clock.now()
    const found = known.get(token)
    if (found && found.key === key && found.fromMs <= now.getTime() && now.getTime() < found.untilMs) return found.instanceId
    const verified = await verify(token, key, agentAudience(baseUrl), now)
    if (known.size >= tokensKept) known.clear()
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
      // Counted from `iat`, so that a token that allows itself more life gets none; it also refuses an `iat` in the future.
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

/** Time is only spoken of with tokens whose signature was good: the library looks at it last. */
function refusal(error: unknown, now: Date): Problem {
  const claim = (error as { claim?: string }).claim
  const late = error instanceof errors.JWTExpired
  const early = error instanceof errors.JWTClaimValidationFailed && claim === 'iat'
  if (!late && !early) return problem('UNAUTHENTICATED', 'the token was not signed by this host’s key for this daemon')
  const signedAt = Number((error as errors.JWTExpired).payload.iat) * 1000
  const offset = Math.round((signedAt - now.getTime()) / 1000)
  const serverTime = now.toISOString()
  return problem(
    'CLOCK_SKEW',
    `the daemon's time is ${serverTime}, this token was signed ${Math.abs(offset)} s ${offset > 0 ? 'after' : 'before'} it: set the clock of the host (timedatectl, chrony)`,
    { details: [{ path: 'serverTime', reason: serverTime }] },
  )
}

/** Throws HOST_REVOKED, HOST_FROZEN. */
export function refuseShutOut({ name, status, reason }: Pick<Host, 'name' | 'status' | 'reason'>): void {
  if (status === 'revoked')
    throw problem(
      'HOST_REVOKED',
      `${name} was revoked (${reason}): \`tenantry hosts invite ${name}\` makes a new invitation, and \`tenantry-agent enrol --anew\` takes it`,
    )
  if (status === 'frozen')
    throw problem(
      'HOST_FROZEN',
      `${name} is frozen (${reason}): find the second agent, then \`tenantry hosts invite ${name}\` and enrol anew`,
    )
}
