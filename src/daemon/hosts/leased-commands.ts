import { sql } from 'kysely'
import type { HeldCommand, HostResources } from '../../core/hosts/index.ts'
import { type AgentActor, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { type DbOrTx, forUpdate, type Tx, type WithTx } from '../db/index.ts'
import { type Command, commandOf } from './commands.repo.ts'
import type { HostsDeps } from './deps.ts'
import { openStatuses } from './expire-commands.ts'

import { saveMachine } from './hosts.repo.ts'

type LeaseDeps = Pick<HostsDeps, 'clock' | 'agents' | 'boxes'>

/**
 * The command, if it belongs to this host, the host still owns the box, and the lease token is current. Undefined otherwise, so that an agent
 * cannot find out about commands of others.
 */
async function findLeased(
  { boxes, db }: Pick<LeaseDeps, 'boxes'> & Readonly<{ db: DbOrTx }>,
  { hostId }: AgentActor,
  { held, lock = false }: Readonly<{ held: HeldCommand; lock?: boolean }>,
): Promise<Command | undefined> {
  let query = db
    .selectFrom('commands')
    .selectAll()
    .where('id', '=', held.id)
    .where('host_id', '=', hostId)
    .where('lease_token', '=', held.leaseToken)
  if (lock) query = query.modifyEnd(forUpdate(db))
  const row = await query.executeTakeFirst()
  const command = row && commandOf(row)
  return command && (await boxes.mayAct(db, command, hostId)) ? command : undefined
}

/** Throws NOT_FOUND. */
export async function leasedCommand(
  deps: Pick<LeaseDeps, 'boxes'> & Readonly<{ db: DbOrTx }>,
  agent: AgentActor,
  held: HeldCommand,
): Promise<Command> {
  const command = await findLeased(deps, agent, { held })
  if (!command) throw notLeased(held)
  return command
}

/** Also locks the row: an agent may renew a command while another call reports progress. Throws NOT_FOUND. */
export async function lockLeasedCommand(deps: WithTx<Pick<LeaseDeps, 'boxes'>>, agent: AgentActor, held: HeldCommand): Promise<Command> {
  const command = await findLeased({ ...deps, db: deps.tx }, agent, { held, lock: true })
  if (!command) throw notLeased(held)
  return command
}

const notLeased = ({ id }: HeldCommand) => problem('NOT_FOUND', `Command ${id} is not leased to this agent.`)

/** Extends the lease and marks the command running. Also reclaims a command that was requeued but not leased again. */
export async function renewLease(tx: Tx, { clock, agents }: LeaseDeps, { id, leaseToken }: HeldCommand): Promise<boolean> {
  const now = isoNow(clock)
  const renewed = await tx
    .updateTable('commands')
    .set({
      status: 'running',
      lease_until: isoIn(clock, agents.requeueAfterMs),
      heard_at: now,
      started_at: sql`coalesce(started_at, ${now})`,
      revision: sql`case when status = 'running' then revision else revision + 1 end`,
    })
    .where('id', '=', id)
    .where('lease_token', '=', leaseToken)
    .where('status', 'in', openStatuses)
    .executeTakeFirst()
  return renewed.numUpdatedRows > 0n
}

/** Renews all given leases and returns those the agent no longer owns. */
export async function renewLeases(deps: WithTx<LeaseDeps>, agent: AgentActor, holding: readonly HeldCommand[]): Promise<HeldCommand[]> {
  const { tx } = deps
  const reads = { ...deps, db: tx }
  const lost = []
  for (const held of holding) {
    const ours = await findLeased(reads, agent, { held })
    if (!ours || !(await renewLease(tx, deps, held))) lost.push(held)
  }
  return lost
}

type Heartbeat = Readonly<{
  holding: readonly HeldCommand[]
  resources?: HostResources | null | undefined
  clockOffsetMs?: number | null | undefined
}>

/** Renews leases, stores machine data, and returns lost commands and the server time. */
export async function receiveHeartbeat(deps: HostsDeps, agent: AgentActor, { holding, resources, clockOffsetMs }: Heartbeat) {
  const serverTime = isoNow(deps.clock)
  const lost = await deps.db.transaction().execute(async (tx) => {
    await saveMachine(tx, agent.hostId, { resources, clockOffsetMs, at: serverTime })
    return renewLeases({ ...deps, tx }, agent, holding)
  })
  return { lost: lost.map(({ id }) => id), serverTime }
}
