import { sql } from 'kysely'
import type { VersionsReport } from '../../core/boxes/index.ts'
import { type EngineInfo, type HeldCommand, type HostResources, judgeInstance, welcomeInstance } from '../../core/hosts/index.ts'
import { type AgentActor, isoNow, problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { requireProtocol } from './enrol-host.ts'
import { renewHeld } from './held-commands.ts'
import { type Host, hostById, lockHost, saveGreeting } from './host.repo.ts'
import type { HostsNeeds } from './needs.ts'
import { freezeHost } from './shut-out-host.ts'

export type Hello = Readonly<{
  protocolVersion: number
  agentVersion: string
  engine: EngineInfo | null
  resources: HostResources | null
  reports: readonly VersionsReport[]
  holding: readonly HeldCommand[]
}>

/** Of three lost beats none may make the host offline or a command be offered again. */
const beatsPerWindow = 4

/**
 * An agent begins to speak. It names all that it works on, so what else was handed to this host got lost with the process that had it, and is
 * offered again at once. Throws PROTOCOL_VERSION, HOST_FROZEN.
 */
export async function hello(needs: HostsNeeds, agent: AgentActor, said: Hello) {
  requireProtocol(said.protocolVersion)
  await refuseSecondAgent(needs, agent, 'welcome')
  const requeued = await needs.db.transaction().execute(async (tx) => {
    const host = await lockHost(tx, agent.hostId)
    await greet(needs, tx, host, agent, said)
    await renewHeld(tx, needs, agent, said.holding)
    const requeued = await requeueOthers(tx, agent.hostId, said.holding)
    await needs.boxes.reportHandler(tx, agent.hostId, said.reports)
    return requeued
  })
  for (const id of requeued) needs.bus.changed(id)
  if (requeued.length > 0) needs.bus.queued(agent.hostId)
  const { longPollMs, offlineAfterMs, requeueAfterMs } = needs.agents
  const heartbeatMs = Math.floor(Math.min(offlineAfterMs, requeueAfterMs) / beatsPerWindow)
  return { hostId: agent.hostId, name: agent.name, longPollMs, heartbeatMs }
}

/** Before anything an agent asks for: it must be the one that said hello last. Throws HOST_FROZEN, CONFLICT ("say hello"). */
export async function refuseSecondAgent(
  needs: HostsNeeds,
  { hostId, instanceId }: AgentActor,
  newcomers: 'welcome' | 'refused',
): Promise<void> {
  const host = await hostById(needs.db, hostId)
  const verdict = judgeInstance(host.instances, instanceId, needs.clock.now())
  if (verdict === 'twice') {
    await freezeHost(needs, host, instanceId)
    throw problem('HOST_FROZEN', `two agents use the key of ${host.name}: it is frozen until an operator has looked`)
  }
  if (verdict === 'late') throw problem('UNAVAILABLE', 'another agent of this host has just said hello', { retryAfterSeconds: 10 })
  if (verdict === 'unknown' && newcomers === 'refused') throw problem('CONFLICT', 'say hello first')
}

function greet({ clock }: HostsNeeds, tx: Tx, host: Host, { instanceId }: AgentActor, said: Hello): Promise<void> {
  const { protocolVersion, agentVersion, engine, resources } = said
  const instances = host.instances.current === instanceId ? host.instances : welcomeInstance(host.instances, instanceId, clock.now())
  return saveGreeting(tx, host.id, { instances, protocolVersion, agentVersion, engine, resources, at: isoNow(clock) })
}

async function requeueOthers(tx: Tx, hostId: string, holding: readonly HeldCommand[]): Promise<string[]> {
  let update = tx
    .updateTable('commands')
    .set({ status: 'queued', lease_until: null, revision: sql`revision + 1` })
    .where('host_id', '=', hostId)
    .where('status', 'in', ['leased', 'running'])
  if (holding.length > 0)
    update = update.where(
      'id',
      'not in',
      holding.map(({ id }) => id),
    )
  return (await update.returning('id').execute()).map(({ id }) => id)
}
