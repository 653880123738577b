import { calculateJwkThumbprint } from 'jose'
import { type AgentPublicKey, commonProtocol, plainUrl, supportedProtocols } from '../../core/hosts/index.ts'
import { isoNow, newId, problem, sha256Hex } from '../../core/kit/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import type { HostsDeps } from './deps.ts'
import { findHostByKeyId, findHostByName, saveEnrolment } from './host.repo.ts'

export type Enrol = Readonly<{ token: string; publicKey: AgentPublicKey; daemonUrl: string; agentVersion: string }> & Spoken

/** As agents say it: their own version, and the oldest that they still speak where it is another. */
type Spoken = Readonly<{ protocolVersion: number; oldestProtocol?: number | undefined }>

type Deps = Pick<HostsDeps, 'db' | 'clock' | 'random' | 'baseUrl' | 'protocols'>

/**
 * Turns an invitation into a host. The same key may ask again with the same token, because an answer can be lost on its way.
 * Throws ENROLMENT_INVALID, PROTOCOL_VERSION, VALIDATION (another daemon was meant), CONFLICT.
 */
export async function enrolHost(deps: Deps, enrol: Enrol): Promise<{ hostId: string; name: string; keyId: string }> {
  requireOurUrl(deps.baseUrl, enrol.daemonUrl)
  agreeOnProtocol(deps, enrol)
  const keyId = await calculateJwkThumbprint(enrol.publicKey)
  return deps.db.transaction().execute(async (tx) => {
    const name = await consumeInvite(tx, isoNow(deps.clock), sha256Hex(enrol.token), keyId)
    const known = await findHostByKeyId(tx, keyId)
    if (known?.name === name && known.status === 'active') return { hostId: known.id, name, keyId }
    if (known) throw problem('CONFLICT', 'this key was enrolled before: delete the state folder of the agent and enrol again')
    return { hostId: await admit(deps, tx, { name, keyId, enrol }), name, keyId }
  })
}

async function admit({ clock, random }: Deps, tx: Tx, { name, keyId, enrol }: { name: string; keyId: string; enrol: Enrol }) {
  const former = await findHostByName(tx, name)
  if (former?.status === 'active')
    throw problem('CONFLICT', `${name} is enrolled already: \`tenantry hosts revoke ${name} --reason '…'\` first`)
  const id = former?.id ?? newId(random, 'host')
  const { publicKey, agentVersion } = enrol
  await saveEnrolment(tx, { id, name, keyId, publicKey, agentVersion, at: isoNow(clock) })
  await closeAlerts(tx, clock, { subject: name, kinds: ['host_frozen'], because: 'the host was enrolled anew' })
  const actor = { kind: 'agent', hostId: id, name, instanceId: 'enrolment' } as const
  await recordAudit(tx, clock, { actor, action: 'host.enrolled', subject: name, data: { hostId: id, keyId, again: former !== undefined } })
  return id
}

/** One guarded update decides who of two has it. */
async function consumeInvite(tx: Tx, now: string, tokenHash: string, keyId: string): Promise<string> {
  const used = await tx
    .updateTable('host_invites')
    .set({ used_at: now, used_by_key_id: keyId })
    .where('token_sha256', '=', tokenHash)
    .where('expires_at', '>', now)
    .where((or) => or.or([or('used_at', 'is', null), or('used_by_key_id', '=', keyId)]))
    .returning('host_name')
    .executeTakeFirst()
  if (!used)
    throw problem('ENROLMENT_INVALID', 'this enrolment token is unknown, used or expired: make a new one with `tenantry hosts invite`')
  return used.host_name
}

/** Tokens of the agent name the URL that it was enrolled with; another one would only fail later, at every call. */
function requireOurUrl(baseUrl: string, daemonUrl: string): void {
  if (plainUrl(daemonUrl) !== plainUrl(baseUrl))
    throw problem('VALIDATION', `this daemon is known as ${plainUrl(baseUrl)}: enrol with --url ${plainUrl(baseUrl)}`)
}

/** The highest version that both sides speak. Throws PROTOCOL_VERSION that says which side is the old one. */
export function agreeOnProtocol({ protocols = supportedProtocols }: Pick<HostsDeps, 'protocols'>, said: Spoken): number {
  const { protocolVersion: newest, oldestProtocol: oldest = newest } = said
  const agreed = commonProtocol(protocols, { newest, oldest })
  if ('version' in agreed) return agreed.version
  const old = agreed.older === 'daemon' ? 'the daemon is older: upgrade tenantryd' : 'the agent is older: upgrade tenantry-agent'
  const spoken = oldest === newest ? `version ${newest}` : `versions ${oldest} to ${newest}`
  throw problem('PROTOCOL_VERSION', `the agent speaks ${spoken}, this daemon ${protocols.join(', ')}; ${old}`)
}
