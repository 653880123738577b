import { type CryptoKey, importJWK, SignJWT } from 'jose'
import { agentAudience, agentToken } from '../../core/hosts/index.ts'
import type { Clock } from '../../core/kit/index.ts'

/** The private half of the agent's key, as a JWK. It never leaves the host. */
export type AgentPrivateKey = Readonly<{ kty: 'OKP'; crv: 'Ed25519'; x: string; d: string }>

/** Who the agent is, since its enrolment. The daemon's URL belongs to it: tokens are signed for that daemon alone. */
export type AgentIdentity = Readonly<{ hostId: string; name: string; keyId: string; daemonUrl: string; privateKey: AgentPrivateKey }>

/** Half of a token's life may pass in requests that wait, so it is made anew early. */
const reuseMs = (agentToken.lifeSeconds * 1000) / 3

/** Makes the authorization header of each call: a token of 60 s, used again for the first third of them. */
export function agentSigner(clock: Clock, identity: AgentIdentity, instanceId: string): () => Promise<{ authorization: string }> {
  let key: Promise<CryptoKey | Uint8Array> | undefined
  let last: { atMs: number; wallMs: number; header: { authorization: string } } | undefined
  return async () => {
    const [atMs, wallMs] = [clock.monotonicMs(), clock.now().getTime()]
    // The wall clock is looked at too: after it was set right, a token of the wrong time must not be used on.
    if (last && atMs - last.atMs < reuseMs && Math.abs(wallMs - last.wallMs) < reuseMs) return last.header
    key ??= importJWK(identity.privateKey, agentToken.algorithm)
    const token = await sign(await key, identity, instanceId, Math.floor(wallMs / 1000))
    last = { atMs, wallMs, header: { authorization: `Bearer ${token}` } }
    return last.header
  }
}

const sign = (key: CryptoKey | Uint8Array, { keyId, hostId, daemonUrl }: AgentIdentity, instanceId: string, at: number): Promise<string> =>
  new SignJWT({ [agentToken.instanceClaim]: instanceId })
    .setProtectedHeader({ alg: agentToken.algorithm, kid: keyId })
    .setSubject(hostId)
    .setAudience(agentAudience(daemonUrl))
    .setIssuedAt(at)
    .setExpirationTime(at + agentToken.lifeSeconds)
    .sign(key)
