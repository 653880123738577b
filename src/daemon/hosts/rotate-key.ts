import { calculateJwkThumbprint } from 'jose'
import type { AgentPublicKey } from '../../core/hosts/index.ts'
import { type AgentActor, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent } from '../db/index.ts'
import type { HostsDeps } from './deps.ts'
import { announceKey, findHostByKeyId, type Host, lockHost, promoteKey } from './host.repo.ts'

type Deps = Pick<HostsDeps, 'db' | 'clock'>

/**
 * An agent names the key that is to replace its own; the call is signed by either. Nothing ends yet: a crash on any side leaves a key that is
 * heard. Called with the new key itself it answers `current`, and that call was its first use. Throws CONFLICT for a key that is another host's.
 */
export async function rotateKey(
  { db, clock }: Deps,
  agent: AgentActor,
  publicKey: AgentPublicKey,
): Promise<{ keyId: string; state: 'announced' | 'current' }> {
  const keyId = await calculateJwkThumbprint(publicKey)
  return db.transaction().execute(async (tx) => {
    const host = await lockHost(tx, agent.hostId)
    if (host.keyId === keyId) return { keyId, state: 'current' }
    if (host.nextKey?.id === keyId) return { keyId, state: 'announced' }
    const owner = await findHostByKeyId(tx, keyId)
    if (owner && owner.id !== host.id) throw problem('CONFLICT', 'this key belongs to another host: make a new one')
    if (!(await announceKey(tx, host, { id: keyId, publicKey, announcedAt: isoNow(clock) })))
      throw problem('CONFLICT', `the key of ${host.name} was replaced just now`)
    const data = { hostId: host.id, keyId: host.keyId, nextKeyId: keyId }
    await recordAudit(tx, clock, { actor: agent, action: 'host.key_announced', subject: host.name, data })
    return { keyId, state: 'announced' }
  })
}

/** The first call that the announced key signed: the former key is forgotten. */
export async function replaceKey({ db, clock }: Deps, host: Host, instanceId: string): Promise<void> {
  const { id: hostId, name, nextKey, keyId: formerKeyId } = host
  if (!nextKey) return
  await db.transaction().execute(async (tx) => {
    if (!(await promoteKey(tx, host, nextKey, isoNow(clock)))) return
    const data = { hostId, keyId: nextKey.id, formerKeyId }
    await appendEvent(tx, clock, { stream: 'admin', source: 'hosts', eventType: 'host.key_rotated', payload: { host: name, ...data } })
    const actor = { kind: 'agent', hostId, name, instanceId } as const
    await recordAudit(tx, clock, { actor, action: 'host.key_rotated', subject: name, data })
  })
}
