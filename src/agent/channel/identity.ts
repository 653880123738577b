import { type CryptoKey, importJWK, SignJWT } from 'jose'
import { agentAudience, agentToken, isSkewed } from '../../core/hosts/index.ts'
import type { Clock } from '../../core/kit/index.ts'

/** The private half of the agent's key, as a JWK. It never leaves the host. */
export type AgentPrivateKey = Readonly<{ kty: 'OKP'; crv: 'Ed25519'; x: string; d: string }>

/** Who the agent is, since its enrolment. The daemon's URL belongs to it: tokens are signed for that daemon alone. */
export type AgentIdentity = Readonly<{ hostId: string; name: string; keyId: string; daemonUrl: string; privateKey: AgentPrivateKey }>

/** Half of a token's life may pass in requests that wait, so it is made anew early. */
const reuseMs = (agentToken.lifeSeconds * 1000) / 3

/** By how much the host's clock is off, as far as the daemon has told the time. One per connection, for all its keys. */
export type ClockGauge = Readonly<{
  /** The daemon said what time it is. */
  heard(serverTime: string): void
  /** The host's clock minus the daemon's; null while nothing was heard. */
  offsetMs(): number | null
}>

export function clockGauge(clock: Clock): ClockGauge {
  let offsetMs: number | null = null
  return {
    heard: (serverTime) => {
      const said = Date.parse(serverTime)
      if (!Number.isNaN(said)) offsetMs = clock.now().getTime() - said
    },
    offsetMs: () => offsetMs,
  }
}

export type AgentSigner = Readonly<{ keyId: string; header(): Promise<string> }>

/**
 * Makes the authorization header of each call: a token of 60 s, used again for the first third of them. A host whose clock is skewed signs by
 * the daemon's time, so that it can be heard and say by how much it is off.
 */
export function agentSigner(clock: Clock, gauge: ClockGauge, identity: AgentIdentity, instanceId: string): AgentSigner {
  let key: Promise<CryptoKey | Uint8Array> | undefined
  let last: { atMs: number; wallMs: number; header: string } | undefined
  const header = async () => {
    const offsetMs = gauge.offsetMs()
    const [atMs, wallMs] = [clock.monotonicMs(), clock.now().getTime() - (isSkewed({ clockOffsetMs: offsetMs }) ? (offsetMs ?? 0) : 0)]
    // The wall clock is looked at too: after it was set right, a token of the wrong time must not be used on.
    if (last && atMs - last.atMs < reuseMs && Math.abs(wallMs - last.wallMs) < reuseMs) return last.header
    key ??= importJWK(identity.privateKey, agentToken.algorithm)
    const token = await sign(await key, identity, instanceId, Math.floor(wallMs / 1000))
    last = { atMs, wallMs, header: `Bearer ${token}` }
    return last.header
  }
  return { keyId: identity.keyId, header }
}

const sign = (key: CryptoKey | Uint8Array, { keyId, hostId, daemonUrl }: AgentIdentity, instanceId: string, at: number): Promise<string> =>
  new SignJWT({ [agentToken.instanceClaim]: instanceId })
    .setProtectedHeader({ alg: agentToken.algorithm, kid: keyId })
    .setSubject(hostId)
    .setAudience(agentAudience(daemonUrl))
    .setIssuedAt(at)
    .setExpirationTime(at + agentToken.lifeSeconds)
    .sign(key)
