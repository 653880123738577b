import { calculateJwkThumbprint } from 'jose'
import type { AgentPublicKey } from '../../core/hosts/index.ts'
import { type AgentActor, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent } from '../db/index.ts'
import type { HostsDeps } from './deps.ts'
import { announceKey, deleteInvites, findFormerKey, findHostByKeyId, type Host, lockHost, promoteKey } from './hosts.repo.ts'

type KeyDeps = Pick<HostsDeps, 'db' | 'clock'>

/**
 * Announces the agent's next key; the current key stays valid until the first use of the new one, so a crash on either side never locks the agent out.
 * Returns `current` when the call is signed by the new key itself. Throws CONFLICT for a key of another host
 * and for a replaced one.
 */
export async function rotateKey(
  { db, clock }: KeyDeps,
  agent: AgentActor,
  publicKey: AgentPublicKey,
): Promise<{ keyId: string; state: 'announced' | 'current' }> {
  const keyId = await calculateJwkThumbprint(publicKey)
  return db.transaction().execute(async (tx) => {
    const host = await lockHost(tx, agent.hostId)
    if (host.keyId === keyId) return { keyId, state: 'current' }
    if (host.nextKey?.id === keyId) return { keyId, state: 'announced' }
    const owner = await findHostByKeyId(tx, keyId)
    if (owner && owner.id !== host.id) throw problem('CONFLICT', 'This key belongs to another host. fix: create a new key')
    if (await findFormerKey(tx, keyId)) throw problem('CONFLICT', 'This key was replaced before. fix: create a new key')
    if (!(await announceKey(tx, host, { id: keyId, publicKey, announcedAt: isoNow(clock) })))
      throw problem('CONFLICT', `The key of ${host.name} was replaced concurrently. fix: retry`)
    const data = { hostId: host.id, keyId: host.keyId, nextKeyId: keyId }
    await recordAudit(tx, clock, { actor: agent, action: 'host.key_announced', subject: host.name, data })
    return { keyId, state: 'announced' }
  })
}

/** Promotes the announced key on its first use; the former key becomes invalid, and so do the invitations of the host. */
export async function replaceKey({ db, clock }: KeyDeps, host: Host, instanceId: string): Promise<void> {
  const { id: hostId, name, nextKey, keyId: formerKeyId } = host
  if (!nextKey) return
  await db.transaction().execute(async (tx) => {
    await deleteInvites(tx, name)
    if (!(await promoteKey(tx, { host, next: nextKey }, { at: isoNow(clock), by: instanceId }))) return
    const data = { hostId, keyId: nextKey.id, formerKeyId }
    await appendEvent(tx, clock, { stream: 'admin', source: 'hosts', eventType: 'host.key_rotated', payload: { host: name, ...data } })
    const actor = { kind: 'agent', hostId, name, instanceId } as const
    await recordAudit(tx, clock, { actor, action: 'host.key_rotated', subject: name, data })
  })
}
