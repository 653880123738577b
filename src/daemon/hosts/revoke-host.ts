import { alertOf } from '../../core/alerts/index.ts'
import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { notifyFailures } from './command-handlers.ts'
import type { HostsDeps } from './deps.ts'
import { expireCommands } from './expire-commands.ts'
import { type Host, hostByName, setHostBlocked } from './hosts.repo.ts'

type RevokeDeps = Pick<HostsDeps, 'db' | 'clock' | 'bus' | 'log' | 'boxes'>

/** Revokes a host on every replica and expires its open commands. Throws NOT_FOUND, CONFLICT. */
export async function revokeHost(
  { db, clock, bus, boxes }: RevokeDeps,
  actor: Actor,
  { name, reason }: { name: string; reason: string },
): Promise<Host> {
  const { host, expired } = await db.transaction().execute(async (tx) => {
    const { id } = await hostByName(tx, name)
    if (!(await setHostBlocked(tx, id, 'revoked', reason))) throw problem('CONFLICT', `Host ${name} is already revoked.`)
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

/** Two agents use one key and cannot be distinguished, so both are refused until an operator acts. */
export async function freezeHost({ db, clock, bus, log }: Omit<RevokeDeps, 'boxes'>, host: Host, instanceId: string): Promise<void> {
  const reason = `two agents used its key at ${isoNow(clock)}`
  await db.transaction().execute(async (tx) => {
    if (!(await setHostBlocked(tx, host.id, 'frozen', reason))) return
    const actor = { kind: 'agent', hostId: host.id, name: host.name, instanceId } as const
    const instances = [host.instances.current, instanceId]
    await raiseAlert(tx, clock, alertOf.host_frozen({ host: host.name }))
    await recordAudit(tx, clock, { actor, action: 'host.frozen', subject: host.name, data: { hostId: host.id, instances } })
  })
  bus.queued(host.id)
  log.error({ host: host.name, instances: [host.instances.current, instanceId] }, 'two agents use the key of this host: host frozen')
}
