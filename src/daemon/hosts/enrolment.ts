import { calculateJwkThumbprint } from 'jose'
import { type AgentPublicKey, commonProtocol, isHostPathWord, plainUrl, supportedProtocols } from '../../core/hosts/index.ts'
import { type Actor, type Clock, isoIn, isoNow, newId, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, Tx } from '../db/index.ts'
import type { HostsDeps } from './deps.ts'
import { findFormerKey, findHostByKeyId, findHostByName, saveEnrolment } from './hosts.repo.ts'

const inviteMs = 15 * 60_000

/** Creates an enrolment token for a host name; only its hash is stored. Replaces an unused invitation for the name. Throws ALREADY_EXISTS, VALIDATION. */
export async function inviteHost(
  { db, clock, random }: { db: Db; clock: Clock; random: Random },
  actor: Actor,
  { name }: { name: string },
) {
  const token = Buffer.from(random.bytes(32)).toString('base64url')
  const expiresAt = isoIn(clock, inviteMs)
  await db.transaction().execute(async (tx) => {
    const former = await findHostByName(tx, name)
    if (!former && isHostPathWord(name)) throw reservedName(name)
    if (former?.status === 'active')
      throw problem(
        'ALREADY_EXISTS',
        `Host ${name} is already enrolled. fix: choose another name, or tenantry hosts revoke ${name} --reason '…'`,
      )
    await tx.deleteFrom('host_invites').where('host_name', '=', name).where('used_at', 'is', null).execute()
    await tx
      .insertInto('host_invites')
      .values({
        token_sha256: sha256Hex(token),
        host_name: name,
        created_at: isoNow(clock),
        expires_at: expiresAt,
        used_at: null,
        used_by_key_id: null,
      })
      .execute()
    await recordAudit(tx, clock, { actor, action: 'host.invited', subject: name, data: { expiresAt } })
  })
  return { token, name, expiresAt }
}

function reservedName(name: string) {
  const reason = `${name} is reserved. fix: choose another name`
  return problem('VALIDATION', `name: ${reason}`, { details: [{ path: 'name', reason }] })
}

/** Deletes expired invitations, used or not, and returns their number. */
export async function deleteEndedInvites({ db, clock }: { db: Db; clock: Clock }): Promise<number> {
  const gone = await db.deleteFrom('host_invites').where('expires_at', '<=', isoNow(clock)).executeTakeFirst()
  return Number(gone.numDeletedRows)
}

type Enrol = Readonly<{ token: string; publicKey: AgentPublicKey; daemonUrl: string; agentVersion: string }> & AgentProtocols

/** The agent's protocol version, and the oldest one it still supports if different. */
type AgentProtocols = Readonly<{ protocolVersion: number; oldestProtocol?: number | undefined }>

type EnrolDeps = Pick<HostsDeps, 'db' | 'clock' | 'random' | 'baseUrl' | 'protocols'>

/**
 * Enrols a host with an invitation. The same key may repeat the call with the same token, because a response can be lost.
 * Throws ENROLMENT_INVALID, PROTOCOL_VERSION, VALIDATION (URL of another daemon), CONFLICT.
 */
export async function enrolHost(deps: EnrolDeps, enrol: Enrol): Promise<{ hostId: string; name: string; keyId: string }> {
  assertOwnUrl(deps.baseUrl, enrol.daemonUrl)
  negotiateProtocol(deps, enrol)
  const keyId = await calculateJwkThumbprint(enrol.publicKey)
  return deps.db.transaction().execute(async (tx) => {
    const name = await consumeInvite(tx, { now: isoNow(deps.clock), tokenHash: sha256Hex(enrol.token), keyId })
    const known = await findHostByKeyId(tx, keyId)
    if (known?.name === name && known.keyId === keyId && known.status === 'active') return { hostId: known.id, name, keyId }
    if (known || (await findFormerKey(tx, keyId)))
      throw problem(
        'CONFLICT',
        'This key was enrolled before. fix: enrol with a new key: remove pending-key.json from the state folder of the agent',
      )
    return { hostId: await admit(deps, tx, { name, keyId, enrol }), name, keyId }
  })
}

async function admit({ clock, random }: EnrolDeps, tx: Tx, { name, keyId, enrol }: { name: string; keyId: string; enrol: Enrol }) {
  const former = await findHostByName(tx, name)
  if (former?.status === 'active')
    throw problem('CONFLICT', `Host ${name} is already enrolled. fix: tenantry hosts revoke ${name} --reason '…'`)
  const id = former?.id ?? newId(random, 'host')
  const { publicKey, agentVersion } = enrol
  await saveEnrolment(tx, { id, name, keyId, publicKey, agentVersion, at: isoNow(clock) })
  await closeAlerts(tx, clock, { subject: name, kinds: ['host_frozen'], because: 'the host was enrolled again' })
  const actor = { kind: 'agent', hostId: id, name, instanceId: 'enrolment' } as const
  await recordAudit(tx, clock, { actor, action: 'host.enrolled', subject: name, data: { hostId: id, keyId, again: former !== undefined } })
  return id
}

/** One guarded update, so that only one of two concurrent calls wins. */
async function consumeInvite(
  tx: Tx,
  { now, tokenHash, keyId }: Readonly<{ now: string; tokenHash: string; keyId: string }>,
): Promise<string> {
  const used = await tx
    .updateTable('host_invites')
    .set({ used_at: now, used_by_key_id: keyId })
    .where('token_sha256', '=', tokenHash)
    .where('expires_at', '>', now)
    .where((or) => or.or([or('used_at', 'is', null), or('used_by_key_id', '=', keyId)]))
    .returning('host_name')
    .executeTakeFirst()
  if (!used)
    throw problem(
      'ENROLMENT_INVALID',
      'This enrolment token is unknown, used or expired. fix: create a new one with `tenantry hosts invite`',
    )
  return used.host_name
}

/** Agent tokens name the URL used at enrolment, so a different URL would fail at every later call. */
function assertOwnUrl(baseUrl: string, daemonUrl: string): void {
  if (plainUrl(daemonUrl) !== plainUrl(baseUrl))
    throw problem('VALIDATION', `The URL of this daemon is ${plainUrl(baseUrl)}. fix: enrol with --url ${plainUrl(baseUrl)}`)
}

/** Returns the highest version both sides support. Throws PROTOCOL_VERSION, naming the outdated side. */
export function negotiateProtocol({ protocols = supportedProtocols }: Pick<HostsDeps, 'protocols'>, agent: AgentProtocols): number {
  const { protocolVersion: newest, oldestProtocol: oldest = newest } = agent
  const agreed = commonProtocol(protocols, { newest, oldest })
  if ('version' in agreed) return agreed.version
  const old = agreed.older === 'daemon' ? 'fix: upgrade tenantryd' : 'fix: upgrade tenantry-agent'
  const spoken = oldest === newest ? `version ${newest}` : `versions ${oldest} to ${newest}`
  throw problem('PROTOCOL_VERSION', `The agent supports protocol ${spoken}, this daemon ${protocols.join(', ')}. ${old}`)
}
