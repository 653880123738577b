import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { makeClient } from '../../core/contract/index.ts'
import { type AgentPublicKey, agentContract, plainUrl, protocolVersion } from '../../core/hosts/index.ts'
import { type Clock, isProblem, problem, type Random, type Secret } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { Connection } from './connection.ts'
import type { AgentIdentity, AgentPrivateKey } from './identity.ts'

import { isFatal, retry } from './retry.ts'

type EnrolDeps = Readonly<{ daemonUrl: string; agentVersion: string; fetch?: typeof globalThis.fetch }>

/** An enrolment token may only be sent over https or to this machine. Throws CONFIG_INVALID. */
export function assertSafeUrl(daemonUrl: string): string {
  const url = URL.canParse(daemonUrl) ? new URL(daemonUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw problem('CONFIG_INVALID', `${daemonUrl} is not a daemon URL. fix: use https://…`)
  const loopback = /^(127\.|localhost$|\[::1\]$)/.test(url.hostname)
  if (url.protocol === 'http:' && !loopback)
    throw problem('CONFIG_INVALID', `${daemonUrl} is neither encrypted nor on this machine. fix: use the daemon's https:// URL`)
  return plainUrl(daemonUrl)
}

/** Creates an Ed25519 key. The caller stores it before enrolment, so that a lost response can be requested again. */
export async function newAgentKey(): Promise<AgentPrivateKey> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const { x = '', d = '' } = await exportJWK(privateKey)
  return { kty: 'OKP', crv: 'Ed25519', x, d }
}

/** Enrols the key. Throws ENROLMENT_INVALID, UNREACHABLE, CONFIG_INVALID and other errors of the daemon. */
export async function enrolAgent(
  { daemonUrl, agentVersion, fetch = settlingFetch }: EnrolDeps,
  privateKey: AgentPrivateKey,
  token: Secret,
): Promise<AgentIdentity> {
  const url = assertSafeUrl(daemonUrl)
  const { kty, crv, x } = privateKey
  const client = makeClient(agentContract, { baseUrl: url, fetch })
  const publicKey = { kty, crv, x }
  const { hostId, name, keyId } = await client.enrolHost({
    body: { token: token.reveal(), publicKey, daemonUrl: url, protocolVersion, agentVersion },
  })
  if (keyId !== (await calculateJwkThumbprint(publicKey))) throw problem('INTERNAL', 'The daemon enrolled a different key')
  return { hostId, name, keyId, daemonUrl: url, privateKey }
}

/** Key storage of the agent. The next key is stored before it is announced, so after a crash one stored key is always valid. */
export type KeyStore = Readonly<{
  /** The new key of an unfinished rotation. */
  pending(): Promise<AgentPrivateKey | undefined>
  /** Creates and stores a new key. */
  prepare(): Promise<AgentPrivateKey>
  /** Stores the new identity and clears the pending key. */
  adopt(identity: AgentIdentity): Promise<void>
}>

type Use = (identity: AgentIdentity) => void

/**
 * Rotates the agent's key: announces it with the old key, confirms it by its first use, then stores it. Can be interrupted and called again;
 * one of the two keys is always valid. Throws the daemon's errors.
 */
export const rotateKey = (connection: Connection, keys: KeyStore): Promise<AgentIdentity> =>
  connection.replaceKey((use) => replace(connection, keys, use))

type Patient = Readonly<{ clock: Clock; random: Random; signal: AbortSignal }>

/** Finishes a rotation of an earlier run, retrying until the daemon answers. */
export async function finishKeyRotation(deps: Patient, connection: Connection, keys: KeyStore): Promise<void> {
  if (!(await keys.pending())) return
  const { signal } = deps
  await connection.replaceKey((use) => retry(deps, () => replace(connection, keys, use), { signal, isFinal: isFatal }))
}

async function replace(connection: Connection, keys: KeyStore, use: Use): Promise<AgentIdentity> {
  const begun = await keys.pending()
  const { kty, crv, x, d } = begun ?? (await keys.prepare())
  const publicKey: AgentPublicKey = { kty, crv, x }
  const former = connection.identity()
  const next = { ...former, keyId: await calculateJwkThumbprint(publicKey), privateKey: { kty, crv, x, d } }
  if (!begun || !(await isHeard(connection, next, publicKey))) {
    await connection.as(former).rotateKey({ body: { publicKey } })
    if (!(await isHeard(connection, next, publicKey))) throw problem('UNAVAILABLE', 'The daemon does not know the new key yet')
  }
  use(next)
  await keys.adopt(next)
  return next
}

/** Uses the new key for the first time, which makes it the only valid one. Returns false when the daemon does not know it. */
async function isHeard(connection: Connection, next: AgentIdentity, publicKey: AgentPublicKey): Promise<boolean> {
  try {
    return (await connection.as(next).rotateKey({ body: { publicKey } })).state === 'current'
  } catch (error) {
    if (isProblem(error, 'UNAUTHENTICATED')) return false
    throw error
  }
}
