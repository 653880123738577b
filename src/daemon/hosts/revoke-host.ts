import { humanTime, type NewAlert } from '../../core/alerts/index.ts'
import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { notifyFailures } from './command-handlers.ts'
import type { HostsDeps } from './deps.ts'
import { expireCommands } from './expire-commands.ts'
import { deleteInvites, type Host, hostByName, setHostBlocked } from './hosts.repo.ts'

type RevokeDeps = Pick<HostsDeps, 'db' | 'clock' | 'bus' | 'log' | 'boxes'>

/** Revokes a host on every replica and expires its open commands. Throws NOT_FOUND, CONFLICT. */
export async function revokeHost(
  { db, clock, bus, boxes }: RevokeDeps,
  actor: Actor,
  { name, reason }: { name: string; reason: string },
): Promise<Host> {
  const { host, expired } = await db.transaction().execute(async (tx) => {
    const { id } = await hostByName(tx, name)
    await deleteInvites(tx, name)
    if (!(await setHostBlocked(tx, id, { status: 'revoked', reason }))) throw problem('CONFLICT', `Host ${name} is already revoked.`)
    const error = { code: 'HOST_REVOKED', message: `${name} was revoked: ${reason}` }
    const expired = await expireCommands(tx, isoNow(clock), { hostId: id, error })
    await notifyFailures(tx, boxes, expired)
    await closeAlerts(tx, clock, { subject: name, kinds: ['host_frozen'], because: 'the host was revoked' })
    await recordAudit(tx, clock, { actor, action: 'host.revoked', subject: name, data: { hostId: id, reason, commands: expired } })
    return { host: await hostByName(tx, name), expired }
  })
  for (const id of expired) bus.changed(id)
  bus.queued(host.id) // ends its long poll
  return host
}

export type FreezeDeps = Omit<RevokeDeps, 'boxes'>

/** `replacedAt`: the caller signed with a key that was replaced then; absent: two agents used the current key. */
type Evidence = Readonly<{ instanceId: string; replacedAt?: string }>

/** The agent and the holder of a copied key cannot be distinguished, so both are refused until an operator acts. */
export async function freezeHost({ db, clock, bus, log }: FreezeDeps, host: Host, { instanceId, replacedAt }: Evidence): Promise<void> {
  const evidence = replacedAt === undefined ? 'two agents used its key' : 'a replaced key was used'
  const reason = `${evidence} at ${isoNow(clock)}`
  const instances = [host.instances.current, instanceId]
  await db.transaction().execute(async (tx) => {
    await deleteInvites(tx, host.name)
    if (!(await setHostBlocked(tx, host.id, { status: 'frozen', reason }))) return
    const actor = { kind: 'agent', hostId: host.id, name: host.name, instanceId } as const
    await raiseAlert(tx, clock, frozenAlert(host.name, replacedAt))
    const data = { hostId: host.id, instances, ...(replacedAt === undefined ? {} : { replacedAt }) }
    await recordAudit(tx, clock, { actor, action: 'host.frozen', subject: host.name, data })
  })
  bus.queued(host.id)
  log.error({ host: host.name, instances }, `host frozen: ${evidence}`)
}

const frozenAlert = (host: string, replacedAt: string | undefined): NewAlert => ({
  kind: 'host_frozen',
  subject: host,
  title: `Host ${host} is frozen: ${replacedAt === undefined ? 'two agents use its key' : 'a replaced key is in use'}`,
  body:
    (replacedAt === undefined
      ? `Two running agents authenticated as ${host}: its machine was copied or its key was stolen. Neither gets commands any more.\n`
      : `An agent signed with a key of ${host} that was replaced on ${humanTime(replacedAt)}: its machine was copied or restored from a backup, ` +
        'or a thief of the key replaced it. No agent of the host gets commands any more.\n') +
    'The boxes on it keep serving their users. If you know of no copy of the machine, treat the key as stolen.',
  command: `tenantry hosts show ${host}`,
})
