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
import type { Tx, WithTx } from '../db/index.ts'
import { assertNotBlocked } from './authenticate-agent.ts'
import { notifyLost } from './command-handlers.ts'
import { heardAt } from './command-results.ts'
import { commandOf, isAnswered } from './commands.repo.ts'
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
 * and are requeued at once. After a new enrolment, those that expired with the former one are answered as lost. Throws PROTOCOL_VERSION, HOST_FROZEN.
 */
export async function hello(deps: HostsDeps, agent: AgentActor, input: Hello) {
  const protocol = negotiateProtocol(deps, input)
  await assertCurrentInstance(deps, agent, 'allowed')
  const { changed, requeued, host, disowned } = await deps.db.transaction().execute(async (tx) => {
    const host = await lockHost(tx, agent.hostId)
    assertNotBlocked(host)
    await storeHello(deps, tx, { host, instanceId: agent.instanceId, input: { ...input, protocolVersion: protocol } })
    await renewLeases({ ...deps, tx }, agent, input.holding)
    const requeued = await requeueOthers(tx, agent.hostId, input.holding)
    const lost = host.instances.current === null ? await answerLost({ ...deps, tx }, host, input.holding) : []
    await deps.boxes.reportHandler(tx, agent.hostId, input.reports)
    return { changed: [...requeued, ...lost], requeued, host, disowned: await deps.boxes.disowned(tx, agent.hostId) }
  })
  for (const id of changed) deps.bus.changed(id)
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

type HelloOfHost = Readonly<{ host: Host; instanceId: string; input: Hello }>

async function storeHello({ clock }: HostsDeps, tx: Tx, { host, instanceId, input }: HelloOfHost): Promise<void> {
  const { protocolVersion, agentVersion, engine, resources, clockOffsetMs } = input
  const instances = host.instances.current === instanceId ? host.instances : withNewInstance(host.instances, instanceId, clock.now())
  const at = isoNow(clock)
  await saveHello(tx, host.id, { instances, protocolVersion, agentVersion, engine, at })
  await saveMachine(tx, host.id, { resources, clockOffsetMs, at })
}

/**
 * An agent that keeps its state folder over a new enrolment continues its commands and names them. One that does not has lost them for ever:
 * waiting for their results would hold their boxes without end. They end as failed ones do. Returns their ids.
 */
async function answerLost(
  { clock, boxes, tx }: WithTx<HostsDeps>,
  { id, name, enrolledAt }: Host,
  holding: readonly HeldCommand[],
): Promise<string[]> {
  const rows = await tx
    .selectFrom('commands')
    .selectAll()
    .where('host_id', '=', id)
    .where('status', '=', 'expired')
    .where('lease_token', '>', 0)
    .where('result', 'is', null)
    .where('finished_at', '<=', enrolledAt)
    .execute()
  const held = new Set(holding.map((command) => command.id))
  const lost = rows.map(commandOf).filter((command) => !held.has(command.id) && !isAnswered(command))
  const message = `the agent of ${name} lost this command with its state folder; its box may be fenced or half changed. fix: docs/operating.md, "The state folder of an agent is lost"`
  for (const command of lost)
    await tx
      .updateTable('commands')
      .set({ error: JSON.stringify({ code: 'HOST_REVOKED', message }), heard_at: heardAt(clock, command), revision: sql`revision + 1` })
      .where('id', '=', command.id)
      .execute()
  const ids = lost.map((command) => command.id)
  await notifyLost(tx, boxes, ids)
  return ids
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
