import { sql } from 'kysely'
import type { HeldCommand } from '../../core/hosts/index.ts'
import { type AgentActor, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import { type Command, commandOf } from './command.repo.ts'
import type { HostsDeps } from './deps.ts'
import { openStatuses } from './expire-commands.ts'

type Deps = Pick<HostsDeps, 'clock' | 'agents' | 'boxes'>

/**
 * The command, if it is this host's, this host may still act on its box, and nobody was given it since (SECURITY, Agents). Undefined otherwise:
 * to an agent, a command of somebody else does not exist.
 */
async function findHeld(
  db: DbOrTx,
  { boxes }: Pick<Deps, 'boxes'>,
  { hostId }: AgentActor,
  held: HeldCommand,
  use: 'look' | 'change' = 'look',
): Promise<Command | undefined> {
  let query = db
    .selectFrom('commands')
    .selectAll()
    .where('id', '=', held.id)
    .where('host_id', '=', hostId)
    .where('lease_token', '=', held.leaseToken)
  if (use === 'change') query = query.modifyEnd(forUpdate(db))
  const row = await query.executeTakeFirst()
  return row && (await boxes.mayAct(db, row.box_id, hostId)) ? commandOf(row) : undefined
}

/** Throws NOT_FOUND. */
export async function heldCommand(db: DbOrTx, deps: Pick<Deps, 'boxes'>, agent: AgentActor, held: HeldCommand): Promise<Command> {
  const command = await findHeld(db, deps, agent, held)
  if (!command) throw notHeld(held)
  return command
}

/** The same, and nobody else changes it until the commit: an agent renews a command with one call while it tells of it with another. */
export async function lockHeldCommand(tx: Tx, deps: Pick<Deps, 'boxes'>, agent: AgentActor, held: HeldCommand): Promise<Command> {
  const command = await findHeld(tx, deps, agent, held, 'change')
  if (!command) throw notHeld(held)
  return command
}

const notHeld = ({ id }: HeldCommand) => problem('NOT_FOUND', `this agent has no command ${id} in hand`)

/** Extends the lease and marks the command as worked on; one that was offered again meanwhile, but not handed out, is claimed back. */
export async function renew(tx: Tx, { clock, agents }: Deps, { id, leaseToken }: HeldCommand): Promise<boolean> {
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

/** Renews all that the agent says it works on; answers those that it has no longer. */
export async function renewHeld(tx: Tx, deps: Deps, agent: AgentActor, holding: readonly HeldCommand[]): Promise<HeldCommand[]> {
  const lost = []
  for (const held of holding) {
    const ours = await findHeld(tx, deps, agent, held)
    if (!ours || !(await renew(tx, deps, held))) lost.push(held)
  }
  return lost
}
