import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { makeClient } from '../../core/contract/index.ts'
import { type AgentPublicKey, agentContract, plainUrl, protocolVersion } from '../../core/hosts/index.ts'
import { type Clock, isProblem, problem, type Random, type Secret } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { Connection } from './connection.ts'
import type { AgentIdentity, AgentPrivateKey } from './identity.ts'

import { isEnding, retry } from './retry.ts'

type EnrolDeps = Readonly<{ daemonUrl: string; agentVersion: string; fetch?: typeof globalThis.fetch }>

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

/** Where the agent keeps its keys. The one that is to come is written down before the daemon hears of it: whatever dies, a key is heard. */
export type KeyStore = Readonly<{
  /** The key of a rotation that was begun and is not over. */
  pending(): Promise<AgentPrivateKey | undefined>
  /** The same, or a new one, durably. */
  prepare(): Promise<AgentPrivateKey>
  /** The new identity in place of the former; nothing is pending any more. */
  adopt(identity: AgentIdentity): Promise<void>
}>

type Use = (identity: AgentIdentity) => void

/**
 * Replaces the agent's key: announced under the former, confirmed by its own first use, then kept. It may break off anywhere and be called
 * again; one of the two keys is heard at any moment. Throws what the daemon says.
 */
export const rotateKey = (connection: Connection, keys: KeyStore): Promise<AgentIdentity> =>
  connection.replaceKey((use) => replace(connection, keys, use))

type Patient = Readonly<{ clock: Clock; random: Random; signal: AbortSignal }>

/** Ends a rotation that an earlier run began, however long the daemon is away; calls that the former key signed wait for it. */
export async function settleKey(deps: Patient, connection: Connection, keys: KeyStore): Promise<void> {
  if (!(await keys.pending())) return
  const { signal } = deps
  await connection.replaceKey((use) => retry(deps, () => replace(connection, keys, use), { signal, givesUp: isEnding }))
}

async function replace(connection: Connection, keys: KeyStore, use: Use): Promise<AgentIdentity> {
  const begun = await keys.pending()
  const { kty, crv, x, d } = begun ?? (await keys.prepare())
  const publicKey: AgentPublicKey = { kty, crv, x }
  const former = connection.identity()
  const next = { ...former, keyId: await calculateJwkThumbprint(publicKey), privateKey: { kty, crv, x, d } }
  if (!begun || !(await isHeard(connection, next, publicKey))) {
    await connection.as(former).rotateKey({ body: { publicKey } })
    if (!(await isHeard(connection, next, publicKey))) throw problem('UNAVAILABLE', 'the daemon does not know the new key yet')
  }
  use(next)
  await keys.adopt(next)
  return next
}

/** Uses the new key for the first time: from then on it alone counts. False when the daemon never heard of it. */
async function isHeard(connection: Connection, next: AgentIdentity, publicKey: AgentPublicKey): Promise<boolean> {
  try {
    return (await connection.as(next).rotateKey({ body: { publicKey } })).state === 'current'
  } catch (error) {
    if (isProblem(error, 'UNAUTHENTICATED')) return false
    throw error
  }
}
