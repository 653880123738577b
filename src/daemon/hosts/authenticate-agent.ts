import { decodeProtectedHeader, errors, importJWK, jwtVerify } from 'jose'
import { type AgentPublicKey, agentAudience, agentToken } from '../../core/hosts/index.ts'
import { type AgentActor, elapsedMs, isoNow, type Problem, problem } from '../../core/kit/index.ts'
import { findHostByKeyId, type Host, markSeen } from './host.repo.ts'
import type { HostsNeeds } from './needs.ts'
import { replaceKey } from './rotate-key.ts'

type Needs = Pick<HostsNeeds, 'db' | 'clock' | 'baseUrl'>

/** Calls come often; the row need not be written at each. */
const seenEveryMs = 5000

/** After that the announced key alone is heard, though nobody has used it yet. */
const formerKeyMs = 10 * 60_000

/**
 * The host behind a call, by a token of at most 60 s that its key signed for this daemon. The record is read at each call: a revoked host is
 * out at once. Throws UNAUTHENTICATED, CLOCK_SKEW, HOST_REVOKED, HOST_FROZEN.
 */
export function authenticateAgent(needs: Needs): (authorization: string | undefined) => Promise<AgentActor> {
  const read = keyReader()
  return async (authorization) => {
    const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
    if (!token) throw problem('UNAUTHENTICATED', 'agents sign each call with their key: no token was sent')
    const keyId = keyIdOf(token)
    const host = await findHostByKeyId(needs.db, keyId)
    if (!host) throw problem('UNAUTHENTICATED', 'no host is enrolled with this key: `tenantry-agent enrol` does it')
    const instanceId = await verify(needs, token, await read(keyId, keyOf(needs, host, keyId)))
    refuseShutOut(host)
    if (host.nextKey?.id === keyId) await replaceKey(needs, host, instanceId)
    await see(needs, host)
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
function keyOf({ clock }: Needs, { name, keyId, publicKey, nextKey }: Host, signedWith: string): AgentPublicKey {
  if (nextKey?.id === signedWith) return nextKey.publicKey
  if (signedWith === keyId && (!nextKey || elapsedMs(nextKey.announcedAt, isoNow(clock)) <= formerKeyMs)) return publicKey
  throw problem('UNAUTHENTICATED', `the key of ${name} was replaced: an agent without the new one must enrol anew`)
}

async function verify({ clock, baseUrl }: Needs, token: string, key: Key): Promise<string> {
  const now = clock.now()
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [agentToken.algorithm],
      audience: agentAudience(baseUrl),
      clockTolerance: agentToken.leewaySeconds,
      // Counted from `iat`, so that a token that allows itself more life gets none; it also refuses an `iat` in the future.
      maxTokenAge: agentToken.lifeSeconds,
      currentDate: now,
      requiredClaims: ['iat', 'exp', agentToken.instanceClaim],
    })
    return String(payload[agentToken.instanceClaim]).slice(0, 64)
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
export function refuseShutOut({ name, status, reason }: Host): void {
  if (status === 'revoked') throw problem('HOST_REVOKED', `${name} was revoked (${reason}): it needs a new invitation to enrol again`)
  if (status === 'frozen')
    throw problem(
      'HOST_FROZEN',
      `${name} is frozen (${reason}): find the second agent, then \`tenantry hosts invite ${name}\` and enrol anew`,
    )
}

async function see({ db, clock }: Needs, host: Host): Promise<void> {
  const silentMs = host.lastSeenAt === null ? Number.POSITIVE_INFINITY : clock.now().getTime() - Date.parse(host.lastSeenAt)
  if (silentMs >= seenEveryMs) await markSeen(db, host.id, isoNow(clock))
}
