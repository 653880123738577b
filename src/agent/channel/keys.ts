import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { makeClient } from '../../core/contract/index.ts'
import { type AgentPublicKey, agentContract, plainUrl, protocolVersion } from '../../core/hosts/index.ts'
import { type Clock, isLoopback, isProblem, problem, type Random, type Secret } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { KeyStore } from './agent-deps.ts'
import type { Connection } from './connection.types.ts'
import type { AgentIdentity, AgentPrivateKey } from './identity.ts'
import { isFatal, retry } from './retry.ts'

type EnrolDeps = Readonly<{ daemonUrl: string; agentVersion: string; fetch?: typeof globalThis.fetch }>

/** An enrolment token may only be sent over https or to this machine. Throws CONFIG_INVALID. */
export function assertSafeUrl(daemonUrl: string): string {
  const url = URL.canParse(daemonUrl) ? new URL(daemonUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw problem('CONFIG_INVALID', `${daemonUrl} is not a daemon URL. fix: use https://…`)
  if (url.protocol === 'http:' && !isLoopback(url))
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

type Use = (identity: AgentIdentity) => void

/**
 * Rotates the agent's key: announces it with the old key, confirms it by its first use, then stores it. Can be interrupted and called again;
 * one of the two keys is always valid. Throws the daemon's errors.
 */
export const rotateKey = (connection: Connection, keys: KeyStore): Promise<AgentIdentity> =>
  connection.replaceKey((use) => replace(connection, keys, use))

type Patient = Readonly<{ clock: Clock; random: Random; signal: AbortSignal }>

/**
 * Finishes a rotation of an earlier run, retrying until the daemon answers. Every other call waits for the daemon's answer about the new key,
 * because a call by a replaced key freezes the host. A key unknown to the daemon is announced once this agent is connected.
 */
export async function finishKeyRotation(deps: Patient, connection: Connection, keys: KeyStore): Promise<void> {
  const { signal } = deps
  const retrying = <Value>(call: () => Promise<Value>) => retry(deps, call, { signal, isFinal: isFatal })
  const isAdopted = await connection.replaceKey(async (use) => {
    const begun = await keys.pending()
    return !begun || retrying(() => adoptIfKnown({ connection, keys, use }, begun))
  })
  if (!isAdopted) await retrying(() => rotateKey(connection, keys))
}

/** Adopts the stored new key if the daemon knows it: its first use arrived, but the response was lost. */
export async function adoptPendingKey(connection: Connection, keys: KeyStore): Promise<void> {
  await connection.replaceKey(async (use) => {
    const begun = await keys.pending()
    return begun && adoptIfKnown({ connection, keys, use }, begun)
  })
}

async function replace(connection: Connection, keys: KeyStore, use: Use): Promise<AgentIdentity> {
  const begun = await keys.pending()
  const rotation = { connection, keys, use }
  const known = begun && (await adoptIfKnown(rotation, begun))
  if (known) return known
  const key = begun ?? (await keys.prepare())
  await connection.as(connection.identity()).rotateKey({ body: { publicKey: publicHalf(key) } })
  const adopted = await adoptIfKnown(rotation, key)
  if (!adopted) throw problem('UNAVAILABLE', 'The daemon does not know the new key yet')
  return adopted
}

type Rotation = Readonly<{ connection: Connection; keys: KeyStore; use: Use }>

/** Uses the new key for the first time, which makes it the only valid one, and stores it. Undefined when the daemon does not know it. */
async function adoptIfKnown({ connection, keys, use }: Rotation, privateKey: AgentPrivateKey): Promise<AgentIdentity | undefined> {
  const publicKey = publicHalf(privateKey)
  const next = { ...connection.identity(), keyId: await calculateJwkThumbprint(publicKey), privateKey }
  if (!(await isHeard(connection, next, publicKey))) return undefined
  use(next)
  await keys.adopt(next)
  return next
}

const publicHalf = ({ kty, crv, x }: AgentPrivateKey): AgentPublicKey => ({ kty, crv, x })

/** False when the daemon does not know the new key. */
async function isHeard(connection: Connection, next: AgentIdentity, publicKey: AgentPublicKey): Promise<boolean> {
  try {
    return (await connection.as(next).rotateKey({ body: { publicKey } })).state === 'current'
  } catch (error) {
    if (isProblem(error, 'UNAUTHENTICATED')) return false
    throw error
  }
}
