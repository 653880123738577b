import { sql } from 'kysely'
import type { VersionsReport } from '../../core/boxes/index.ts'
import { type EngineInfo, type HeldCommand, type HostResources, judgeInstance, welcomeInstance } from '../../core/hosts/index.ts'
import { type AgentActor, elapsedMs, isoNow, problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { refuseShutOut } from './authenticate-agent.ts'
import type { HostsDeps } from './deps.ts'
import { agreeOnProtocol } from './enrol-host.ts'
import { renewHeld } from './held-commands.ts'
import { countActiveHosts, type Host, hostById, lockHost, saveGreeting, saveMachine } from './host.repo.ts'
import { freezeHost } from './shut-out-host.ts'

export type Hello = Readonly<{
  protocolVersion: number
  oldestProtocol?: number | undefined
  agentVersion: string
  clockOffsetMs?: number | null | undefined
  engine: EngineInfo | null
  resources: HostResources | null
  reports: readonly VersionsReport[]
  holding: readonly HeldCommand[]
}>

/** Of three lost beats none may make the host offline or a command be offered again. */
const beatsPerWindow = 4

/** Hellos come in no faster than one in this time, on average, when all agents have lost the daemon in one moment. */
const spreadPerHostMs = 10
const longestSpreadMs = 30_000

/**
 * An agent begins to speak. It names all that it works on, so what else was handed to this host got lost with the process that had it, and is
 * offered again at once. Throws PROTOCOL_VERSION, HOST_FROZEN.
 */
export async function hello(deps: HostsDeps, agent: AgentActor, said: Hello) {
  const protocol = agreeOnProtocol(deps, said)
  await refuseSecondAgent(deps, agent, 'welcome')
  const { requeued, host, disowned } = await deps.db.transaction().execute(async (tx) => {
    const host = await lockHost(tx, agent.hostId)
    refuseShutOut(host)
    await greet(deps, tx, host, agent, { ...said, protocolVersion: protocol })
    await renewHeld(tx, deps, agent, said.holding)
    const requeued = await requeueOthers(tx, agent.hostId, said.holding)
    await deps.boxes.reportHandler(tx, agent.hostId, said.reports)
    return { requeued, host, disowned: await deps.boxes.disowned(tx, agent.hostId) }
  })
  for (const id of requeued) deps.bus.changed(id)
  if (requeued.length > 0) deps.bus.queued(agent.hostId)
  return { hostId: agent.hostId, name: agent.name, protocol, ...timesOf(deps, host), reconnectSpreadMs: await spreadOf(deps), disowned }
}

function timesOf({ agents, clock }: HostsDeps, { keySince }: Host) {
  const { longPollMs, offlineAfterMs, requeueAfterMs } = agents
  const heartbeatMs = Math.floor(Math.min(offlineAfterMs, requeueAfterMs) / beatsPerWindow)
  const serverTime = isoNow(clock)
  return { serverTime, keyAgeMs: Math.max(0, elapsedMs(keySince, serverTime)), longPollMs, heartbeatMs }
}

const spreadOf = async ({ db }: HostsDeps): Promise<number> => Math.min(longestSpreadMs, (await countActiveHosts(db)) * spreadPerHostMs)

/** Before anything an agent asks for: it must be the one that said hello last. Throws HOST_FROZEN, CONFLICT ("say hello"). */
export async function refuseSecondAgent(
  deps: HostsDeps,
  { hostId, instanceId }: AgentActor,
  newcomers: 'welcome' | 'refused',
): Promise<void> {
  const host = await hostById(deps.db, hostId)
  const verdict = judgeInstance(host.instances, instanceId, deps.clock.now())
  if (verdict === 'twice') {
    await freezeHost(deps, host, instanceId)
    throw problem('HOST_FROZEN', `two agents use the key of ${host.name}: it is frozen until an operator has looked`)
  }
  if (verdict === 'late') throw problem('UNAVAILABLE', 'another agent of this host has just said hello', { retryAfterSeconds: 10 })
  if (verdict === 'unknown' && newcomers === 'refused') throw problem('CONFLICT', 'say hello first')
}

async function greet({ clock }: HostsDeps, tx: Tx, host: Host, { instanceId }: AgentActor, said: Hello): Promise<void> {
  const { protocolVersion, agentVersion, engine, resources, clockOffsetMs } = said
  const instances = host.instances.current === instanceId ? host.instances : welcomeInstance(host.instances, instanceId, clock.now())
  const at = isoNow(clock)
  await saveGreeting(tx, host.id, { instances, protocolVersion, agentVersion, engine, at })
  await saveMachine(tx, host.id, { resources, clockOffsetMs, at })
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
