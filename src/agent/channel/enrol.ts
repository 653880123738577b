import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { makeClient } from '../../core/contract/index.ts'
import { agentContract, plainUrl, protocolVersion } from '../../core/hosts/index.ts'
import { problem, type Secret } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { AgentIdentity, AgentPrivateKey } from './identity.ts'

export type EnrolDeps = Readonly<{ daemonUrl: string; agentVersion: string; fetch?: typeof globalThis.fetch }>

/** Whoever reads the token on its way could enrol in our place, so it only travels over https or within this machine. Throws CONFIG_INVALID. */
export function requireSafeUrl(daemonUrl: string): string {
  const url = URL.canParse(daemonUrl) ? new URL(daemonUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw problem('CONFIG_INVALID', `${daemonUrl} is not the URL of a daemon: give https://…`)
  const loopback = /^(127\.|localhost$|\[::1\]$)/.test(url.hostname)
  if (url.protocol === 'http:' && !loopback)
    throw problem('CONFIG_INVALID', `${daemonUrl} is not encrypted and not on this machine: give the daemon's https:// URL`)
  return plainUrl(daemonUrl)
}

/** A new Ed25519 key. It is written down before it is enrolled, so that a lost answer can be asked for again. */
export async function newAgentKey(): Promise<AgentPrivateKey> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const { x = '', d = '' } = await exportJWK(privateKey)
  return { kty: 'OKP', crv: 'Ed25519', x, d }
}

/** Enrols the key at the daemon. Throws ENROLMENT_INVALID, UNREACHABLE, CONFIG_INVALID and what the daemon says. */
export async function enrolAgent(
  { daemonUrl, agentVersion, fetch = settlingFetch }: EnrolDeps,
  privateKey: AgentPrivateKey,
  token: Secret,
): Promise<AgentIdentity> {
  const url = requireSafeUrl(daemonUrl)
  const { kty, crv, x } = privateKey
  const client = makeClient(agentContract, { baseUrl: url, fetch })
  const publicKey = { kty, crv, x }
  const { hostId, name, keyId } = await client.enrolHost({
    body: { token: token.reveal(), publicKey, daemonUrl: url, protocolVersion, agentVersion },
  })
  if (keyId !== (await calculateJwkThumbprint(publicKey))) throw problem('INTERNAL', 'the daemon enrolled another key than ours')
  return { hostId, name, keyId, daemonUrl: url, privateKey }
}
