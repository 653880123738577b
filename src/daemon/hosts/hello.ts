import { sql } from 'kysely'
import type { VersionsReport } from '../../core/boxes/index.ts'
import {
  classifyInstance,
  type EngineInfo,
  type HeldCommand,
  type HostResources,
  isOffline,
  withNewInstance,
} from '../../core/hosts/index.ts'
import { type AgentActor, elapsedMs, isoNow, problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { assertNotBlocked } from './authenticate-agent.ts'
import type { HostsDeps } from './deps.ts'
import { negotiateProtocol } from './enrolment.ts'
import { countActiveHosts, type Host, hostById, lockHost, saveHello, saveMachine } from './hosts.repo.ts'
import { renewLeases } from './leased-commands.ts'
import { freezeHost } from './revoke-host.ts'

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

/** Three lost heartbeats in a row must not make a host offline or requeue a command. */
const heartbeatsPerWindow = 4

/** Average interval between hellos when all agents reconnect at once. */
const spreadPerHostMs = 10
const maxSpreadMs = 30_000

/**
 * Starts a session of an agent. The agent names all commands it works on; other leased commands of the host were lost with an earlier process
 * and are requeued at once. Throws PROTOCOL_VERSION, HOST_FROZEN.
 */
export async function hello(deps: HostsDeps, agent: AgentActor, input: Hello) {
  const protocol = negotiateProtocol(deps, input)
  await assertCurrentInstance(deps, agent, 'allowed')
  const { requeued, host, disowned } = await deps.db.transaction().execute(async (tx) => {
    const host = await lockHost(tx, agent.hostId)
    assertNotBlocked(host)
    await storeHello(deps, tx, host, agent, { ...input, protocolVersion: protocol })
    await renewLeases(tx, deps, agent, input.holding)
    const requeued = await requeueOthers(tx, agent.hostId, input.holding)
    await deps.boxes.reportHandler(tx, agent.hostId, input.reports)
    return { requeued, host, disowned: await deps.boxes.disowned(tx, agent.hostId) }
  })
  for (const id of requeued) deps.bus.changed(id)
  if (requeued.length > 0) deps.bus.queued(agent.hostId)
  return { hostId: agent.hostId, name: agent.name, protocol, ...timesOf(deps, host), reconnectSpreadMs: await spreadOf(deps), disowned }
}

function timesOf({ agents, clock }: HostsDeps, { keySince }: Host) {
  const { longPollMs, offlineAfterMs, requeueAfterMs } = agents
  const heartbeatMs = Math.floor(Math.min(offlineAfterMs, requeueAfterMs) / heartbeatsPerWindow)
  const serverTime = isoNow(clock)
  return { serverTime, keyAgeMs: Math.max(0, elapsedMs(keySince, serverTime)), longPollMs, heartbeatMs }
}

const spreadOf = async ({ db }: HostsDeps): Promise<number> => Math.min(maxSpreadMs, (await countActiveHosts(db)) * spreadPerHostMs)

/**
 * Asserts that the caller is the instance of the latest hello. Unknown instances: `unless-online` allows them while the host is offline.
 * Throws HOST_FROZEN, UNAVAILABLE, CONFLICT.
 */
export async function assertCurrentInstance(
  deps: HostsDeps,
  { hostId, instanceId }: AgentActor,
  unknownInstances: 'allowed' | 'unless-online' | 'refused',
): Promise<void> {
  const host = await hostById(deps.db, hostId)
  const verdict = classifyInstance(host.instances, instanceId, deps.clock.now())
  if (verdict === 'twice') {
    await freezeHost(deps, host, { instanceId })
    throw problem(
      'HOST_FROZEN',
      `Two agents use the key of ${host.name}; the host is frozen. fix: stop the second agent, then enrol the host again`,
    )
  }
  if (verdict === 'late') throw problem('UNAVAILABLE', 'Another agent of this host has just connected.', { retryAfterSeconds: 10 })
  if (verdict !== 'unknown' || unknownInstances === 'allowed') return
  if (unknownInstances === 'refused') throw problem('CONFLICT', 'Not connected. fix: call hello first')
  const { offlineAfterMs } = deps.agents
  if (host.instances.current !== null && !isOffline(host, deps.clock.now(), offlineAfterMs)) {
    const waitSeconds = Math.ceil(offlineAfterMs / 1000)
    const text = `The agent of ${host.name} is connected, and only it can replace its key. fix: run tenantry-agent rotate-key on the host, or stop its agent and retry after ${waitSeconds} s`
    throw problem('UNAVAILABLE', text, { retryAfterSeconds: 10 })
  }
}

async function storeHello({ clock }: HostsDeps, tx: Tx, host: Host, { instanceId }: AgentActor, input: Hello): Promise<void> {
  const { protocolVersion, agentVersion, engine, resources, clockOffsetMs } = input
  const instances = host.instances.current === instanceId ? host.instances : withNewInstance(host.instances, instanceId, clock.now())
  const at = isoNow(clock)
  await saveHello(tx, host.id, { instances, protocolVersion, agentVersion, engine, at })
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
