import { type CryptoKey, importJWK, SignJWT } from 'jose'
import { agentAudience, agentToken, isSkewed } from '../../core/hosts/index.ts'
import type { Clock } from '../../core/kit/index.ts'

/** The private half of the agent's key, as a JWK. It never leaves the host. */
export type AgentPrivateKey = Readonly<{ kty: 'OKP'; crv: 'Ed25519'; x: string; d: string }>

/** Identity of an enrolled agent. It includes the daemon's URL, because tokens are valid only for that daemon. */
export type AgentIdentity = Readonly<{ hostId: string; name: string; keyId: string; daemonUrl: string; privateKey: AgentPrivateKey }>

/** A request may wait for half of a token's lifetime, so tokens are renewed early. */
const reuseMs = (agentToken.lifeSeconds * 1000) / 3

/** Offset between the host's clock and the daemon's; one per connection, shared by all keys. */
export type ClockOffset = Readonly<{
  /** Records the daemon's time. */
  setServerTime(serverTime: string): void
  /** Host clock minus daemon clock; null before the first response. */
  offsetMs(): number | null
}>

export function clockOffset(clock: Clock): ClockOffset {
  let offsetMs: number | null = null
  return {
    setServerTime: (serverTime) => {
      const said = Date.parse(serverTime)
      if (!Number.isNaN(said)) offsetMs = clock.now().getTime() - said
    },
    offsetMs: () => offsetMs,
  }
}

type SignerDeps = Readonly<{ clock: Clock; gauge: ClockOffset }>

export type AgentSigner = Readonly<{ keyId: string; header(): Promise<string> }>

/**
 * Creates authorization headers: tokens valid for 60 s, reused for 20 s. A host with a skewed clock signs with the daemon's time, so that it
 * can connect and report its offset.
 */
export function agentSigner({ clock, gauge }: SignerDeps, identity: AgentIdentity, instanceId: string): AgentSigner {
  let key: Promise<CryptoKey | Uint8Array> | undefined
  let last: { atMs: number; wallMs: number; header: string } | undefined
  const header = async () => {
    const offsetMs = gauge.offsetMs()
    const [atMs, wallMs] = [clock.monotonicMs(), clock.now().getTime() - (isSkewed({ clockOffsetMs: offsetMs }) ? (offsetMs ?? 0) : 0)]
    // After the wall clock is corrected, a token with the wrong time must not be reused.
    if (last && atMs - last.atMs < reuseMs && Math.abs(wallMs - last.wallMs) < reuseMs) return last.header
    key ??= importJWK(identity.privateKey, agentToken.algorithm)
    const token = await sign(await key, identity, { instanceId, at: Math.floor(wallMs / 1000) })
    last = { atMs, wallMs, header: `Bearer ${token}` }
    return last.header
  }
  return { keyId: identity.keyId, header }
}

type Signed = Readonly<{ instanceId: string; at: number }>

const sign = (key: CryptoKey | Uint8Array, { keyId, hostId, daemonUrl }: AgentIdentity, { instanceId, at }: Signed): Promise<string> =>
  new SignJWT({ [agentToken.instanceClaim]: instanceId })
    .setProtectedHeader({ alg: agentToken.algorithm, kid: keyId })
    .setSubject(hostId)
    .setAudience(agentAudience(daemonUrl))
    .setIssuedAt(at)
    .setExpirationTime(at + agentToken.lifeSeconds)
    .sign(key)
